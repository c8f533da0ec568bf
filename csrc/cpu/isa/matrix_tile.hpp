// csrc/cpu/isa/matrix_tile.hpp - products of dense tiles of matrices, compiled for each
// instruction set of the host (isa/matrix.cpp). The elements of a tile lie row by row.
#pragma once

#include <cstdint>

namespace cupola::cpu::interpreter {

// Of A: the rows of one warp, 32 x 16 or 16 x 64. Of B: all columns of a warpgroup, 32 x 256.
constexpr unsigned max_of_a = 1024, max_of_b = 8192;
// Of D: 16 x 256 for one warp of a warpgroup.
constexpr unsigned max_of_sums = 4096;
// The number of columns of a step. The columns of every form are a multiple of it.
constexpr unsigned tile_columns = 8;

struct TileShape {
    unsigned rows, columns, terms;  // A is rows x terms, B is terms x columns
};

// Bits of a float's exponent and mantissa, and unused ones below.
struct FloatLayout {
    int exponent, mantissa;
    int unused = 0;
};

struct FloatTile {
    TileShape shape;
    FloatLayout layout;  // the layout of an f16, bf16 or tf32 element
    unsigned group;      // terms that are added at a time
    const std::uint32_t *a, *b;
    std::uint32_t* sums;  // f32: C, then D
};
struct IntegerTile {
    TileShape shape;
    const std::int32_t *a, *b;
    std::int32_t* products;  // without C
};
struct DoubleTile {
    TileShape shape;
    const std::uint64_t *a, *b;
    std::uint64_t* sums;  // C, then D; rounded to nearest
};

struct TileProducts {
    // Rounds like sm_90. False: a factor is infinite or NaN, and nothing was computed.
    bool (*floats)(const FloatTile& tile);
    void (*integers)(const IntegerTile& tile);
    // False: the result has a NaN, and `sums` is undefined.
    bool (*doubles)(const DoubleTile& tile);
};

}  // namespace cupola::cpu::interpreter
