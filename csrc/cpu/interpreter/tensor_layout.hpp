// csrc/cpu/interpreter/tensor_layout.hpp - where the rows and columns of a product lie in tensor
// memory.
#pragma once

#include "cpu/interpreter/instruction_descriptor.hpp"

namespace cupola::cpu::interpreter {

// The lanes of A and D. With .ws, a product of fewer than 128 rows has several groups of lanes, and
// each has some columns of D; A is in each group.
struct TensorLayout {
    unsigned m, n;
    bool stationary;
    unsigned first_lane;  // 16: M = 64 lies in the upper half of each warp's lanes

    unsigned groups() const { return stationary ? 128 / m : 1; }
    unsigned group_columns() const { return n / groups(); }
    unsigned lane(unsigned row, unsigned group) const {
        if (stationary) return group * m + row;
        return m == 128 ? row : first_lane + row / 16 * 32 + row % 16;
    }
};

// Where four bits of metadata of a row lie: a lane, a column, and the lowest bit.
struct TensorMetadata {
    unsigned lane, column, bit;
};

// The metadata of a chunk of a row. A column has eight chunks of a row of bytes or packed floats.
// With wider elements it has four chunks of two rows, which are eight apart.
inline TensorMetadata metadata_of(const TensorLayout& layout, const InstructionDescriptor& type,
                                  unsigned row, unsigned chunk, unsigned group) {
    if (bits_of(type.a) <= 8) return {layout.lane(row, group), chunk / 8, chunk % 8 * 4};
    const unsigned in_lane = row / 16 * 16 + chunk / 4 * 8 + row % 8;
    return {layout.lane(in_lane, group), type.selector, row / 8 % 2 * 16 + chunk % 4 * 4};
}

// The column of a scale factor, whose byte is `byte` % 4. A column has 32 lines, and a word has
// four factors of one of them. The other factors are behind the columns of 128 lines, or of 256.
inline unsigned scale_column(unsigned line, unsigned lines, unsigned byte) {
    return line / 32 + byte / 4 * (lines > 128 ? 8 : 4);
}

}  // namespace cupola::cpu::interpreter
