// csrc/ptx/matrix_modifiers.hpp - the modifiers of instructions on matrices, in the 64-bit word of
// modifiers.hpp.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"

namespace cupola::ptx {

enum class Tile : std::uint8_t {
    m8n8,
    m8n8k4,
    m8n8k16,
    m8n8k32,
    m8n8k128,
    m16n8k4,
    m16n8k8,
    m16n8k16,
    m16n8k32,
    m16n8k64,
    m16n8k128,
    m16n8k256,
    m16n16k8,
    m16n16k16,
    m8n32k16,
    m32n8k16,
};

enum class Element : std::uint8_t {
    none,
    f16,
    bf16,
    tf32,
    f32,
    f64,
    s8,
    u8,
    s4,
    u4,
    b1,
    e4m3,
    e5m2,
    s32,
};

// These fields reuse bits of fields that instructions on matrices do not have. The fields space and
// round keep their bits.
namespace field {
inline constexpr Field tile{16, 5}, element_d{21, 4}, element_a{25, 4}, element_b{29, 4},
    element_c{33, 4}, layout_a{37, 1}, layout_b{38, 1}, saturate{39, 1}, bit_and{40, 1},
    sparse{41, 1}, matrices{42, 3}, transposed{45, 1};
}

}  // namespace cupola::ptx
