// csrc/ptx/tcgen05.hpp - accesses to tensor memory: shapes, repetitions, registers.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"

namespace cupola::ptx {

// Whether tcgen05.alloc can allocate so many columns. ptxas takes any multiple of 32 for an
// exclusive allocation; the device checks the number against its tensor memory.
constexpr bool is_column_count(std::uint64_t count, bool exclusive) {
    if (exclusive) return count != 0 && count % 32 == 0;
    return count >= 32 && count <= 512 && (count & (count - 1)) == 0;
}

// Data movement shapes: lanes of tensor memory, and bits of each lane.
enum class TensorShape : std::uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };

// The element types of a product; its instruction descriptor chooses from them.
enum class TensorKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

// Data movement shapes of tcgen05.cp: rows in shared memory, bits of each, and the warps whose
// lanes get the rows.
enum class CopyShape : std::uint8_t {
    s128x256b,
    s4x256b,
    s128x128b,
    s64x128b_02_13,
    s64x128b_01_23,
    s32x128b,
};
// The elements that tcgen05.cp turns into bytes: of 6 or 4 bits, 16 of them in 16 bytes.
enum class CopyFormat : std::uint8_t { bytes, b6, b4 };

enum class ColumnReduction : std::uint8_t { none, min, max };

// The scale factors of a row of A and of a column of B: their number, or one for each block of 16
// or 32 elements.
enum class TensorScales : std::uint8_t { none, one, two, four, block16, block32 };

// These fields reuse bits of fields that tcgen05 does not have. The field space keeps its bits.
namespace field {
inline constexpr Field tensor_shape{16, 3}, log_repetitions{19, 3}, halves{22, 1},
    tensor_kind{23, 3}, tensor_scales{26, 3}, shifts_rows{29, 1}, copy_shape{16, 3},
    copy_format{19, 2}, column_reduction{30, 2}, pair{43, 1}, exclusive{44, 1};
// .kind and .scale_vec are one modifier of the table, which has both fields.
inline constexpr Field scaled_kind{23, 6};
}  // namespace field

// The value of the field scaled_kind.
constexpr unsigned kind_and_scales(TensorKind kind, TensorScales scales) {
    return static_cast<unsigned>(kind) | static_cast<unsigned>(scales) << 3;
}

// The shape of tcgen05.ld or tcgen05.st.
struct TensorAccessForm {
    TensorShape shape;
    unsigned repetitions;
    bool halves;  // .pack::16b or .unpack::16b: a register has the low halves of two columns

    explicit TensorAccessForm(Bits modifiers)
        : shape(static_cast<TensorShape>(field::tensor_shape.get(modifiers))),
          repetitions(1u << field::log_repetitions.get(modifiers)),
          halves(field::halves.get(modifiers) != 0) {}

    // Columns and registers of one repetition. The 32 bits of .16x32bx2 are those of one half.
    unsigned unit_columns() const {
        switch (shape) {
            case TensorShape::s16x64b:
                return 2;
            case TensorShape::s16x128b:
                return 4;
            case TensorShape::s16x256b:
                return 8;
            default:
                return 1;
        }
    }
    unsigned unit_registers() const { return (unit_columns() + 1) / 2; }

    unsigned lanes() const { return shape == TensorShape::s32x32b ? 32 : 16; }
    unsigned columns() const { return repetitions * unit_columns() * (halves ? 2 : 1); }
    unsigned registers() const { return repetitions * unit_registers(); }
};

}  // namespace cupola::ptx
