// csrc/ptx/matrix.cpp - decodes the rows of table/matrix.inc.
#include "ptx/matrix.hpp"

namespace cupola::ptx {
namespace {

struct TileSize {
    unsigned m, n, k;
};

constexpr TileSize tile_sizes[] = {
    {8, 8, 8},   {8, 8, 4},   {8, 8, 16},  {8, 8, 32},   {8, 8, 128},  {16, 8, 4},  {16, 8, 8},
    {16, 8, 16}, {16, 8, 32}, {16, 8, 64}, {16, 8, 128}, {16, 8, 256}, {16, 16, 8}, {16, 16, 16},
    {8, 32, 16}, {32, 8, 16}, {16, 16, 0}, {8, 16, 0},   {16, 8, 0},
};

struct RowKind {
    MatrixKind kind;
    Matrix which;
    bool sparse = false;
};
constexpr RowKind Multiply{MatrixKind::Multiply, Matrix::d},
    MultiplyWhole{MatrixKind::MultiplyWhole, Matrix::d},
    LoadWholeA{MatrixKind::LoadWhole, Matrix::a}, LoadWholeB{MatrixKind::LoadWhole, Matrix::b},
    LoadWholeC{MatrixKind::LoadWhole, Matrix::c}, StoreWhole{MatrixKind::StoreWhole, Matrix::d},
    LoadRows{MatrixKind::LoadRows, Matrix::d}, StoreRows{MatrixKind::StoreRows, Matrix::a},
    TransposeMatrix{MatrixKind::TransposeMatrix, Matrix::d},
    MultiplyGroup{MatrixKind::MultiplyGroup, Matrix::d},
    MultiplyGroupSparse{MatrixKind::MultiplyGroup, Matrix::d, true},
    OrderGroup{MatrixKind::OrderGroup, Matrix::d};

constexpr RowKind kinds[] = {
#define FORM(mnemonic, semantics, ...) semantics,
#include "ptx/table/matrix.inc"
#undef FORM
};

constexpr Type register_type_of(Element e) {
    return e == Element::f64   ? Type::f64
           : e == Element::f32 ? Type::f32
           : e == Element::s32 ? Type::s32
                               : Type::b32;
}

}  // namespace

Element MatrixForm::element(Matrix of) const {
    switch (of) {
        case Matrix::a:
            return a;
        case Matrix::b:
            return b;
        case Matrix::c:
            return c;
        case Matrix::d:
            break;
    }
    return d;
}

MatrixForm matrix_form(FormId id, Bits bits) {
    const RowKind row = kinds[id.row()];
    const unsigned tile = field::tile.get(bits);
    const bool group = row.kind == MatrixKind::MultiplyGroup || row.kind == MatrixKind::OrderGroup;
    const auto element = [&](Field f) { return static_cast<Element>(f.get(bits)); };
    MatrixForm form{};
    form.kind = row.kind;
    form.which = row.which;
    form.d = element(field::element_d);
    form.a = element(field::element_a);
    form.b = element(field::element_b);
    form.c = element(field::element_c);
    // wmma.mma omits the type of f16 factors; one type stands for both factors.
    if (form.kind == MatrixKind::MultiplyWhole && form.a == Element::none) form.a = Element::f16;
    if (form.b == Element::none) form.b = form.a;
    // A wmma.load or wmma.store has one type for every matrix.
    if (form.kind == MatrixKind::LoadWhole || form.kind == MatrixKind::StoreWhole)
        form.b = form.c = form.d = form.a;
    if (group) {
        // A row of A takes 32 bytes; a sparse A stores half of its k elements.
        form.m = 64;
        form.n = 8 * (tile + 1);
        form.k = form.a == Element::none ? 0 : (row.sparse ? 512 : 256) / bits_of(form.a);
        form.c = form.d;
    } else {
        const TileSize size = tile_sizes[tile < sizeof(tile_sizes) / sizeof(TileSize) ? tile : 0];
        form.m = size.m;
        form.n = size.n;
        form.k = size.k;
    }
    form.column_a = field::layout_a.get(bits) != 0;
    form.column_b = field::layout_b.get(bits) != 0;
    form.saturate = field::saturate.get(bits) != 0;
    form.bit_and = field::bit_and.get(bits) != 0;
    form.sparse = row.sparse || field::sparse.get(bits) != 0;
    form.transposed = field::transposed.get(bits) != 0;
    form.matrices = field::matrices.get(bits);
    form.stored = static_cast<Stored>(field::stored.get(bits));
    form.round = static_cast<Round>(field::round.get(bits));
    form.scales = field::scales.get(bits);
    form.has_kind = field::kind.get(bits) != 0 || form.scales != 0;
    form.scale_e4m3 = field::scale_e4m3.get(bits) != 0;
    return form;
}

unsigned registers_of_rows(const MatrixForm& form) {
    const unsigned bytes = form.stored == Stored::b16 ? 2 : 1;
    return form.m * form.n * bytes / (32 * 4);
}

Fragment fragment_of(const MatrixForm& form, Matrix of) {
    switch (form.kind) {
        case MatrixKind::LoadRows:
        case MatrixKind::StoreRows:
            return {form.matrices * registers_of_rows(form), Type::b32};
        case MatrixKind::TransposeMatrix:
            return {1, Type::b32};
        case MatrixKind::MultiplyGroup:
            if (of == Matrix::a) return {4, Type::b32};
            return {form.n * bits_of(form.d) / 64, register_type_of(form.d)};
        default:
            break;
    }
    const Element e = form.element(of);
    const Type type = register_type_of(e);
    const bool factor = of == Matrix::a || of == Matrix::b;
    // A wmma f16 factor has eight registers for every tile: two lanes hold some elements.
    if (form.kind != MatrixKind::Multiply && factor && e == Element::f16) return {8, type};
    unsigned elements = form.rows(of) * form.columns(of);
    if (form.sparse && of == Matrix::a) elements /= 2;
    if (form.quads()) elements *= 4;
    return {elements * bits_of(e) / (32 * 8 * bytes_of(type)), type};
}

}  // namespace cupola::ptx
