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
    m16n16,
    m8n16,
    m16n8,
};

// An element of a matrix in memory. Sixteen of 6 or 4 bits have 32 or 64 bits of padding behind
// them.
enum class Stored : std::uint8_t { b16, b8, b6, b4 };

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
    e2m1,  // in the middle of a byte
    e2m3,  // in the lower bits of a byte, as e3m2
    e3m2,
    packed_e2m1,  // two in a byte
};

// These fields reuse bits of fields that instructions on matrices do not have. The fields space and
// round keep their bits.
namespace field {
inline constexpr Field tile{16, 5}, element_d{21, 4}, element_a{25, 5}, element_b{30, 5},
    element_c{35, 4}, layout_a{39, 1}, layout_b{40, 1}, saturate{41, 1}, bit_and{42, 1},
    sparse{43, 1}, matrices{44, 3}, transposed{47, 1}, kind{48, 1}, scales{49, 3},
    scale_e4m3{52, 1}, stored{53, 2};
}

}  // namespace cupola::ptx
