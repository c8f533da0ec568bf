// csrc/cpu/isa/tensor_rounding.hpp - rounding of a tile's floats while they are loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/base/tensor_map.hpp"

namespace cupola::cpu {

// Rounds to the nearest tf32, ties to even. NaN and infinity stay as they are.
constexpr std::uint32_t round_to_tf32(std::uint32_t bits) {
    constexpr unsigned dropped = 13;
    if ((bits & 0x7f800000) == 0x7f800000) return bits;
    const std::uint32_t half = (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return (bits + half) & ~((1u << dropped) - 1);
}

constexpr std::uint32_t flush_denormal(std::uint32_t bits) {
    return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

// Rounds the elements of a row as the type of the tensor map says. An H200 does not flush denormals
// of tf32_ftz: it rounds them as those of tf32.
inline void round_elements(TensorMap::Element type, std::byte* row, std::size_t bytes) {
    using Element = TensorMap::Element;
    const bool rounds = type == Element::tf32 || type == Element::tf32_ftz;
    const bool flushes = type == Element::f32_ftz;
    if (!rounds && !flushes) return;
    for (std::size_t n = 0; n < bytes; n += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, row + n, 4);
        if (flushes) bits = flush_denormal(bits);
        if (rounds) bits = round_to_tf32(bits);
        std::memcpy(row + n, &bits, 4);
    }
}

}  // namespace cupola::cpu
