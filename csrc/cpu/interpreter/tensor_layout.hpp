// csrc/cpu/interpreter/tensor_layout.hpp - where the rows and columns of a product lie in tensor
// memory.
#pragma once

#include "cpu/interpreter/instruction_descriptor.hpp"

namespace cupola::cpu::interpreter {

// The lanes of A and D. With .ws, a product of fewer than 128 rows has several groups of lanes, and
// each has some columns of D; A is in each group. A pair whose blocks have 64 rows each has two
// groups, and A is in the first; with a sparse A it has one group, in half of the lanes.
struct TensorLayout {
    unsigned m, n;
    bool stationary, pair, sparse;
    unsigned first_lane;  // 16: 64 rows lie in the upper half of each warp's lanes

    // Rows that a block has.
    unsigned rows() const { return pair ? m / 2 : m; }
    bool is_folded() const { return pair && !sparse && rows() == 64; }
    // Whether each warp has 16 rows, in either half of its lanes.
    bool is_in_halves() const { return rows() == 64 && !stationary && !is_folded(); }
    unsigned groups() const { return stationary || is_folded() ? 128 / rows() : 1; }
    unsigned group_columns() const { return n / groups(); }
    unsigned lane(unsigned row, unsigned group) const {
        return is_in_halves() ? first_lane + row / 16 * 32 + row % 16 : group * rows() + row;
    }
    unsigned lane_of_a(unsigned row, unsigned group) const {
        return lane(row, is_folded() ? 0 : group);
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
