// csrc/cpu/base/tensor_box.hpp - the size of a tensor map's box.
#pragma once

#include "cpu/base/tensor_map.hpp"

namespace cupola::cpu {

// The shared memory of a multiprocessor: NVIDIA's driver accepts no larger box.
inline constexpr std::uint64_t largest_box = 228 * 1024;

// Rows that a copy of columns has: pixels, without the halo pixels of wide columns.
inline constexpr unsigned wide_pixels = 128, halo_period = 32;
inline std::uint64_t pixels(const TensorMap& map) {
    return map.access == TensorMap::Access::wide_128 ? wide_pixels : map.box[1];
}

// In bytes. Device code may change a map, so that its box has up to 2^43 bytes.
inline std::uint64_t box_bytes(const TensorMap& map) {
    std::uint64_t all = map.row_bytes();
    if (map.access != TensorMap::Access::tiles) return all * pixels(map);
    for (unsigned n = 1; n < map.rank; ++n) all *= (map.box[n] + map.step[n] - 1) / map.step[n];
    return all;
}

}  // namespace cupola::cpu
