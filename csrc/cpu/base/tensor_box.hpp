// csrc/cpu/base/tensor_box.hpp - the size of a tensor map's box.
#pragma once

#include "cpu/base/tensor_map.hpp"

namespace cupola::cpu {

// The shared memory of a multiprocessor: NVIDIA's driver accepts no larger box.
inline constexpr std::uint64_t largest_box = 228 * 1024;

// In bytes. Device code may change a map, so that its box has up to 2^43 bytes.
inline std::uint64_t box_bytes(const TensorMap& map) {
    std::uint64_t all = std::uint64_t{map.box[0]} * map.element();
    if (map.columns) return all * map.box[1];
    for (unsigned n = 1; n < map.rank; ++n) all *= (map.box[n] + map.step[n] - 1) / map.step[n];
    return all;
}

}  // namespace cupola::cpu
