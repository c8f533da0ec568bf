// csrc/ptx/matrix.hpp - the instructions on matrices: tiles, element types, and how many registers
// of a lane hold a part of a matrix.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

struct FormId;

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

enum class Matrix : std::uint8_t { a, b, c, d };

// Modifiers of this chapter. Bits that other chapters use for what does not occur here; space and
// round keep their own.
namespace field {
inline constexpr Field tile{16, 5}, element_d{21, 4}, element_a{25, 4}, element_b{29, 4},
    element_c{33, 4}, layout_a{37, 1}, layout_b{38, 1}, saturate{39, 1}, bit_and{40, 1},
    sparse{41, 1}, matrices{42, 3}, transposed{45, 1};
}

enum class MatrixKind : std::uint8_t {
    Multiply,         // mma
    MultiplyWhole,    // wmma.mma
    LoadWhole,        // wmma.load
    StoreWhole,       // wmma.store
    LoadRows,         // ldmatrix
    StoreRows,        // stmatrix
    TransposeMatrix,  // movmatrix
    MultiplyGroup,    // wgmma.mma_async
    OrderGroup,       // wgmma.fence and its kin
};

// What a row of the chapter and the modifiers of an instruction say together.
struct MatrixForm {
    MatrixKind kind;
    unsigned m, n, k;
    Element d, a, b, c;
    bool column_a, column_b;  // column-major; of a load or store column_a
    bool saturate, bit_and, sparse, transposed;
    unsigned matrices;  // of ldmatrix and stmatrix
    Matrix which;       // that a wmma.load or wmma.store is about
    Round round;

    Element element(Matrix of) const;
    unsigned rows(Matrix of) const { return of == Matrix::b ? k : m; }
    unsigned columns(Matrix of) const { return of == Matrix::a ? k : n; }
    // m8n8k4 of f16: four products, each by eight lanes.
    bool quads() const { return kind == MatrixKind::Multiply && k == 4 && a == Element::f16; }
};

struct Fragment {
    unsigned registers;
    Type type;  // of each
};

constexpr unsigned bits_of(Element e) {
    switch (e) {
        case Element::f64:
            return 64;
        case Element::f32:
        case Element::tf32:
        case Element::s32:
            return 32;
        case Element::f16:
        case Element::bf16:
            return 16;
        case Element::s4:
        case Element::u4:
            return 4;
        case Element::b1:
            return 1;
        default:
            return 8;
    }
}

MatrixForm matrix_form(FormId id, Bits modifiers);
// What a lane holds of a matrix; of ldmatrix, stmatrix and movmatrix whatever `of` is.
Fragment fragment_of(const MatrixForm& form, Matrix of);

}  // namespace cupola::ptx
