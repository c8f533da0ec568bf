// csrc/cpu/interpreter/instruction_descriptor.cpp - reads instruction descriptors.
#include "cpu/interpreter/instruction_descriptor.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::TensorKind;
using ptx::TensorScales;

bool has_scales(TensorKind kind) { return kind >= TensorKind::mxf8f6f4; }
bool is_packed(TensorKind kind) { return kind >= TensorKind::mxf4; }

// The type of a factor; `none` if the kind has no such type.
Element factor(TensorKind kind, unsigned code) {
    constexpr Element small[] = {Element::e4m3, Element::e5m2, Element::none, Element::e2m3,
                                 Element::e3m2, Element::e2m1, Element::none, Element::none};
    switch (kind) {
        case TensorKind::f16:
            return code == 0 ? Element::f16 : code == 1 ? Element::bf16 : Element::none;
        case TensorKind::tf32:
            return code == 2 ? Element::tf32 : Element::none;
        case TensorKind::f8f6f4:
        case TensorKind::mxf8f6f4:
            return small[code];
        case TensorKind::i8:
            return code == 0 ? Element::u8 : code == 1 ? Element::s8 : Element::none;
        case TensorKind::mxf4:
        case TensorKind::mxf4nvf4:
            return code == 1 ? Element::packed_e2m1 : Element::none;
    }
    return Element::none;
}

Element result(TensorKind kind, unsigned code) {
    if (kind == TensorKind::i8) return code == 2 ? Element::s32 : Element::none;
    if (code == 1) return Element::f32;
    return code == 0 && kind != TensorKind::tf32 ? Element::f16 : Element::none;
}

// The number of scale factors of a row; 0: K = 96 has no such number.
unsigned scales_of(const ProductKind& kind, bool long_k) {
    switch (kind.scales) {
        case TensorScales::none:
            return 0;
        case TensorScales::one:
            return 1;
        case TensorScales::two:
            return long_k ? 0 : 2;
        case TensorScales::four:
            return long_k ? 0 : 4;
        case TensorScales::block16:
            return long_k ? 6 : 4;
        case TensorScales::block32:
            return kind.types == TensorKind::mxf8f6f4 ? 1 : long_k ? 3 : 2;
    }
    return 0;
}

std::string why_not_sparse(const ProductKind& kind, std::uint32_t bits) {
    const bool sparse = bits >> 2 & 1;
    if (sparse == kind.sparse) return {};
    return sparse ? "bit 2: a sparse product needs tcgen05.mma.sp"
                  : "bit 2 must be 1, since the instruction has a sparse A";
}

}  // namespace

InstructionDescriptor::InstructionDescriptor(const ProductKind& kind, std::uint32_t bits)
    : negate_a(bits >> 13 & 1),
      negate_b(bits >> 14 & 1),
      transpose_a(bits >> 15 & 1),
      transpose_b(bits >> 16 & 1),
      m((bits >> 24 & 31) << 4),
      n((bits >> 17 & 63) << 3) {
    take_types(kind.types, bits);
    if (has_scales(kind.types))
        take_scaled(kind, bits);
    else
        take_plain(kind, bits);
    if (error.empty()) check_size(kind);
}

void InstructionDescriptor::take_types(TensorKind kind, std::uint32_t bits) {
    const unsigned code_d = bits >> 4 & 3, code_a = bits >> 7 & 7, code_b = bits >> 10 & 7;
    d = has_scales(kind) ? Element::f32 : result(kind, code_d);
    a = factor(kind, code_a);
    b = factor(kind, code_b);
    if (d == Element::none)
        error = "bits 4 and 5: the kind has no type " + std::to_string(code_d) + " of D";
    else if (a == Element::none || b == Element::none)
        error = "bits 7 to 12: types " + std::to_string(code_a) + " and " + std::to_string(code_b) +
                " of A and B do not exist in this kind";
    else if (kind == TensorKind::f16 && (a != b || (d == Element::f16 && a != Element::f16)))
        error = "bits 4 to 12: A and B must both be f16, or both bf16 with a D of f32";
}

void InstructionDescriptor::take_plain(const ProductKind& kind, std::uint32_t bits) {
    const bool integers = kind.types == TensorKind::i8;
    const bool selects = kind.types == TensorKind::f16 || kind.types == TensorKind::tf32;
    saturate = bits >> 3 & 1;
    selector = bits & 3;
    if (const std::string why = why_not_sparse(kind, bits); !why.empty())
        error = why;
    else if ((selector != 0 && !kind.sparse) || (bits >> 6 & 1) || (bits >> 23 & 1) ||
             (bits >> 29 & (kind.stationary ? 1 : 7)) != 0)
        error = kind.sparse ? "bits 6, 23 and 29 to 31 must be 0"
                            : "bits 0, 1, 6, 23, 29, 30 and 31 must be 0";
    else if (selector > (selects ? 1 : 0))
        error = selects ? "bits 0 and 1: the sparsity selector must be 0 or 1"
                        : "bits 0 and 1: the sparsity selector of this kind must be 0";
    else if (saturate && !integers)
        error = "bit 3: only integers saturate";
    else if ((negate_a || negate_b) && integers)
        error = "bits 13 and 14: integers are not negated";
}

void InstructionDescriptor::take_scaled(const ProductKind& kind, std::uint32_t bits) {
    const bool long_k = bits >> 31 != 0;
    m &= 0x180;  // bits 27 and 28
    first_scale_a = bits >> 29 & 3;
    first_scale_b = bits >> 4 & 3;
    scale_e4m3 = (bits >> 23 & 1) == 0;
    scales = scales_of(kind, long_k);
    if (long_k) row_bytes = 48;
    if (const std::string why = why_not_sparse(kind, bits); !why.empty())
        error = why;
    else if ((bits & 11) != 0 || (bits >> 6 & 1) || (bits >> 24 & 7) != 0)
        error = "bits 0, 1, 3, 6, 24, 25 and 26 must be 0";
    else if (is_packed(kind.types) && (transpose_a || transpose_b))
        error = "bits 15 and 16: a matrix of packed e2m1 is not transposed";
    else if (long_k && (!is_packed(kind.types) || !kind.long_k || kind.sparse))
        error = "bit 31: only dense products of kinds mxf4 and mxf4nvf4 of sm_103a have K = 96";
    else if (scales == 0)
        error = "bit 31: K = 96 needs .block16 or .block32";
    else if (error.empty())
        check_scales(kind);
}

// ue4m3 belongs to kind mxf4nvf4 with four factors, or six with K = 96.
void InstructionDescriptor::check_scales(const ProductKind& kind) {
    const unsigned step = scales == 2 || scales == 6 ? 2 : scales == 4 ? 4 : 1;
    if (scale_e4m3 && (kind.types != TensorKind::mxf4nvf4 || (scales != 4 && scales != 6)))
        error = "bit 23: scale factors of ue4m3 need kind mxf4nvf4 and blocks of 16";
    else if (first_scale_a % step != 0 || first_scale_b % step != 0)
        error = "bits 4, 5, 29 and 30: the bytes of scale factors must be " +
                std::string(step == 4 ? "0" : "0 or 2") + ", got " + std::to_string(first_scale_a) +
                " for A and " + std::to_string(first_scale_b) + " for B";
}

// With integers, columns are a multiple of 16 from 32 columns on, and so is a transposed B of
// bytes. In a pair, each block has half of the rows, and half of B.
void InstructionDescriptor::check_size(const ProductKind& kind) {
    if (kind.stationary) return check_stationary_size(kind.sparse);
    const bool scaled = has_scales(kind.types), integers = kind.types == TensorKind::i8;
    const bool transposed_bytes = bits_of(b) == 8 && transpose_b;
    const unsigned blocks = kind.pair ? 2 : 1, least = 64 * blocks;
    const unsigned step =
        (integers && (kind.pair || n > 32)) || transposed_bytes || (row_bytes == 48 && !kind.pair)
            ? 16
            : 8;
    const bool halved = kind.pair && !kind.sparse && row_bytes != 48;  // a block may have 64 rows
    if (scaled && m != 128 * blocks && !(halved && m == 128))
        error = std::string("bits 27 and 28: M must be ") +
                (halved      ? "128 or 256"
                 : kind.pair ? "256"
                             : "128") +
                ", got " + std::to_string(m);
    else if (!scaled && m != least && m != 2 * least)
        error = "bits 24 to 28: M must be " + std::to_string(least) + " or " +
                std::to_string(2 * least) + ", got " + std::to_string(m);
    else if (n == 0 || n > 256 || n % (step * blocks) != 0)
        error = "bits 17 to 22: N must be a multiple of " + std::to_string(step * blocks) +
                " from " + std::to_string(step * blocks) + " to 256, got " + std::to_string(n);
}

void InstructionDescriptor::check_stationary_size(bool sparse) {
    if (m != 32 && m != 64 && m != 128)
        error = "bits 24 to 28: M must be 32, 64 or 128, got " + std::to_string(m);
    else if (n != 64 && n != 128 && (n != 256 || sparse))
        error = std::string("bits 17 to 22: N must be 64") + (sparse ? " or 128" : ", 128 or 256") +
                ", got " + std::to_string(n);
}

}  // namespace cupola::cpu::interpreter
