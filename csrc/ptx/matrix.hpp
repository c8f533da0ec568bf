// csrc/ptx/matrix.hpp - the instructions on matrices: tiles, element types, and the number of
// registers in which a lane holds its part of a matrix.
#pragma once

#include <cstdint>

#include "ptx/matrix_modifiers.hpp"
#include "ptx/table.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

enum class Matrix : std::uint8_t { a, b, c, d };

enum class MatrixKind : std::uint8_t {
    Multiply,         // mma
    MultiplyWhole,    // wmma.mma
    LoadWhole,        // wmma.load
    StoreWhole,       // wmma.store
    LoadRows,         // ldmatrix
    StoreRows,        // stmatrix
    TransposeMatrix,  // movmatrix
    MultiplyGroup,    // wgmma.mma_async
    MultiplyColumns,  // tcgen05.mma, which has a table of its own
    OrderGroup,       // wgmma.fence, wgmma.commit_group, wgmma.wait_group
};

// An instruction on matrices, decoded from its row and its modifiers.
struct MatrixForm {
    MatrixKind kind;
    unsigned m, n, k;
    Element d, a, b, c;
    bool column_a, column_b;  // column-major; a load or store uses column_a
    bool saturate, bit_and, sparse, transposed;
    unsigned matrices;  // number of matrices of ldmatrix and stmatrix
    Stored stored;      // elements of ldmatrix and stmatrix in memory
    Matrix which;       // the matrix of a wmma.load or wmma.store
    Round round;
    bool has_kind;      // .kind::f8f6f4 and the kinds with scale factors
    unsigned scales;    // scale factors in a row of A and in a column of B; 0 without .block_scale
    bool scale_e4m3;    // the scale factors are ue4m3; otherwise ue8m0
    unsigned halvings;  // C is divided by 2 to this power

    Element element(Matrix of) const;
    unsigned rows(Matrix of) const { return of == Matrix::b ? k : m; }
    unsigned columns(Matrix of) const { return of == Matrix::a ? k : n; }
    // m8n8k4 of f16 is four products, each computed by eight lanes.
    bool quads() const { return kind == MatrixKind::Multiply && k == 4 && a == Element::f16; }
};

struct Fragment {
    unsigned registers;
    Type type;  // type of each register
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
        case Element::packed_e2m1:
            return 4;
        case Element::b1:
            return 1;
        default:
            return 8;
    }
}

// The registers that a lane has of one matrix of ldmatrix or stmatrix. The matrix has eight rows of
// 16 bytes for each.
unsigned registers_of_rows(const MatrixForm& form);
MatrixForm matrix_form(FormId id, Bits modifiers);
// A lane's part of a matrix. For ldmatrix, stmatrix and movmatrix, `of` has no effect.
Fragment fragment_of(const MatrixForm& form, Matrix of);

}  // namespace cupola::ptx
