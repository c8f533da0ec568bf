// csrc/cpu/interpreter/comparison_decoder.cpp - decodes set and setp with a boolean operation,
// comparisons of packed halves, and lop3 with a predicate.
#include "cpu/interpreter/comparison_decoder.hpp"

#include <string>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr const char* comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                       "lo",  "ls",  "hi",  "hs",  "equ", "neu",
                                       "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr const char* predicate_logic[] = {"", "and.pred", "or.pred", "xor.pred"};

std::string comparison(const ptx::Instruction& i, Type type) {
    return std::string("setp.") + comparisons[field::compare.get(i.modifiers)] +
           (field::ftz.get(i.modifiers) ? ".ftz." : ".") + std::string(name_of(type));
}

// The value that `set` returns where the comparison holds.
std::uint64_t truth(Type type) {
    switch (type) {
        case Type::f32:
            return 0x3f800000u;
        case Type::f16:
        case Type::f16x2:
            return 0x3c00;
        case Type::bf16:
        case Type::bf16x2:
            return 0x3f80;
        default:
            return ptx::bytes_of(type) == 2 ? 0xffff : 0xffffffffu;
    }
}

}  // namespace

// A comparison, then predicate logic.
void ComparisonDecoder::decode(const ptx::Instruction& i) {
    const bool set = i.form.opcode() == Opcode::set;
    const Type type = set ? i.type2 : i.type;
    if (type == Type::f16x2 || type == Type::bf16x2) return compare_halves(i);
    const unsigned boolean = field::boolean.get(i.modifiers);
    const std::string opcode = comparison(i, type);
    const ptx::Operand& d = functions_.operand(i, 0);
    const std::int32_t a = operands_.source(functions_.operand(i, 1), type),
                       b = operands_.source(functions_.operand(i, 2), type);
    const std::int32_t third = boolean ? operands_.predicate(functions_.operand(i, 3)) : 0;
    const std::int32_t t = registers_.temporary_predicate(), u = registers_.temporary_predicate();
    if (type == Type::f16 || type == Type::bf16) {  // they have one destination
        code_.emit(opcode, t, a, b);
        code_.emit("not.pred", u, t);
    } else {
        code_.emit(opcode, t, u, a, b);
    }
    if (set) {
        if (boolean) code_.emit(predicate_logic[boolean], t, t, third);
        const unsigned width = ptx::bytes_of(i.type);
        code_.emit(width == 2 ? "selp.b16" : "selp.b32", operands_.destination(d),
                   registers_.constant(width, truth(i.type)), registers_.constant(width, 0), t);
        return;
    }
    // The third operand may be a destination: both results are computed before either is written.
    code_.emit(predicate_logic[boolean], t, t, third);
    code_.emit(predicate_logic[boolean], u, u, third);
    code_.emit("mov.pred", operands_.destination(d), t);
    if (d.second != ptx::absent) code_.emit("mov.pred", operands_.reg(d.second), u);
}

// Compares each half; setp's first predicate is of the lower half, the second of the upper.
void ComparisonDecoder::compare_halves(const ptx::Instruction& i) {
    const bool set = i.form.opcode() == Opcode::set;
    const Type type = set ? i.type2 : i.type;
    const unsigned boolean = field::boolean.get(i.modifiers);
    const std::string opcode = comparison(i, type == Type::f16x2 ? Type::f16 : Type::bf16);
    const ptx::Operand& d = functions_.operand(i, 0);
    std::int32_t halves[2][2];
    for (unsigned n = 0; n < 2; ++n) {
        const std::int32_t whole = operands_.source(functions_.operand(i, 1 + n), Type::b32);
        halves[n][0] = registers_.temporary(2);
        halves[n][1] = registers_.temporary(2);
        code_.emit(unpack_handler(2, 2), whole, halves[n][0], halves[n][1]);
    }
    const std::int32_t third = boolean ? operands_.predicate(functions_.operand(i, 3)) : 0;
    std::int32_t holds[2], made[2];
    for (unsigned n = 0; n < 2; ++n) {
        holds[n] = registers_.temporary_predicate();
        code_.emit(opcode, holds[n], halves[0][n], halves[1][n]);
        if (boolean) code_.emit(predicate_logic[boolean], holds[n], holds[n], third);
    }
    if (!set) {
        code_.emit("mov.pred", operands_.destination(d), holds[0]);
        if (d.second != ptx::absent) code_.emit("mov.pred", operands_.reg(d.second), holds[1]);
        return;
    }
    const std::uint64_t yes = i.type == type ? truth(type) : 0xffff;
    for (unsigned n = 0; n < 2; ++n) {
        made[n] = registers_.temporary(2);
        code_.emit("selp.b16", made[n], registers_.constant(2, yes), registers_.constant(2, 0),
                   holds[n]);
    }
    code_.emit(pack_handler(2, 2), operands_.destination(d), made[0], made[1]);
}

void ComparisonDecoder::lop3(const ptx::Instruction& i) {
    const std::int32_t made = registers_.temporary(4), holds = registers_.temporary_predicate(),
                       other = registers_.temporary_predicate();
    const std::int32_t a = operands_.source(functions_.operand(i, 1), i.type),
                       b = operands_.source(functions_.operand(i, 2), i.type),
                       c = operands_.source(functions_.operand(i, 3), i.type);
    const std::int32_t q = operands_.predicate(functions_.operand(i, 5));
    code_.emit("lop3.b32", made, a, b, c).imm = functions_.operand(i, 4).value;
    code_.emit("setp.ne.b32", holds, other, made, registers_.constant(4, 0));
    code_.emit(predicate_logic[field::boolean.get(i.modifiers)], holds, holds, q);
    const ptx::Operand& d = functions_.operand(i, 0);
    if (d.second != ptx::absent) code_.emit("mov.pred", operands_.reg(d.second), holds);
    if (d.kind == Kind::reg) code_.emit("mov.b32", operands_.reg(d.index), made);
}

}  // namespace cupola::cpu::interpreter
