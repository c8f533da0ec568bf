// csrc/cpu/interpreter/instruction_descriptor.cpp - reads instruction descriptors.
#include "cpu/interpreter/instruction_descriptor.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::TensorKind;

// The type of a factor; `none` if the kind has no such type, or the CPU device lacks it.
Element factor(TensorKind kind, unsigned code) {
    switch (kind) {
        case TensorKind::f16:
            return code == 0 ? Element::f16 : code == 1 ? Element::bf16 : Element::none;
        case TensorKind::tf32:
            return code == 2 ? Element::tf32 : Element::none;
        case TensorKind::f8f6f4:
            return code == 0 ? Element::e4m3 : code == 1 ? Element::e5m2 : Element::none;
        case TensorKind::i8:
            return code == 0 ? Element::u8 : code == 1 ? Element::s8 : Element::none;
    }
    return Element::none;
}

Element result(TensorKind kind, unsigned code) {
    if (kind == TensorKind::i8) return code == 2 ? Element::s32 : Element::none;
    if (code == 1) return Element::f32;
    return code == 0 && kind != TensorKind::tf32 ? Element::f16 : Element::none;
}

}  // namespace

InstructionDescriptor::InstructionDescriptor(TensorKind kind, std::uint32_t bits)
    : saturate(bits >> 3 & 1),
      negate_a(bits >> 13 & 1),
      negate_b(bits >> 14 & 1),
      transpose_a(bits >> 15 & 1),
      transpose_b(bits >> 16 & 1),
      m((bits >> 24 & 31) << 4),
      n((bits >> 17 & 63) << 3) {
    const bool integers = kind == TensorKind::i8;
    take_types(kind, bits);
    if (bits & 4)
        error = "bit 2: a sparse product needs tcgen05.mma.sp";
    else if ((bits & 3) != 0 || (bits >> 6 & 1) || (bits >> 23 & 1) || bits >> 29 != 0)
        error = "bits 0, 1, 6, 23, 29, 30 and 31 must be 0";
    else if (saturate && !integers)
        error = "bit 3: only integers saturate";
    else if ((negate_a || negate_b) && integers)
        error = "bits 13 and 14: integers are not negated";
    else if (error.empty())
        check_size(kind);
}

void InstructionDescriptor::take_types(TensorKind kind, std::uint32_t bits) {
    const unsigned code_d = bits >> 4 & 3, code_a = bits >> 7 & 7, code_b = bits >> 10 & 7;
    d = result(kind, code_d);
    a = factor(kind, code_a);
    b = factor(kind, code_b);
    if (d == Element::none)
        error = "bits 4 and 5: the kind has no type " + std::to_string(code_d) + " of D";
    else if (a == Element::none || b == Element::none)
        error = "bits 7 to 12: types " + std::to_string(code_a) + " and " + std::to_string(code_b) +
                " of A and B are not supported in this kind";
    else if (kind == TensorKind::f16 && (a != b || (d == Element::f16 && a != Element::f16)))
        error = "bits 4 to 12: A and B must both be f16, or both bf16 with a D of f32";
}

// With integers, columns are a multiple of 16 from 32 columns on.
void InstructionDescriptor::check_size(TensorKind kind) {
    const unsigned step = m == 128 || (kind == TensorKind::i8 && n > 32) ? 16 : 8;
    if (m != 64 && m != 128)
        error = "bits 24 to 28: M must be 64 or 128, got " + std::to_string(m);
    else if (n == 0 || n > 256 || n % step != 0)
        error = "bits 17 to 22: N must be a multiple of " + std::to_string(step) + " from " +
                std::to_string(step) + " to 256, got " + std::to_string(n);
}

}  // namespace cupola::cpu::interpreter
