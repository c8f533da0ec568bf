// csrc/ptx/register_definitions.cpp - counts definitions, and follows them to constants.
#include "ptx/register_definitions.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;
using Role = ContractRole;

constexpr int most_hops = 8;

}  // namespace

RegisterDefinitions::RegisterDefinitions(const Function& f) : f_(f), list_(f.registers.size()) {
    for (std::uint32_t n = 0; n < f.code.size(); ++n) {
        const Instruction& i = f.code[n];
        each_register(f, i, [&](std::uint32_t reg, bool written, bool read) {
            if (!written) return;
            Definition& d = list_[reg];
            ++d.count;
            d.last = n;
            d.partial |= read || i.guard != absent;
        });
    }
}

const Instruction* RegisterDefinitions::only(std::uint32_t reg) const {
    const Definition& d = list_[reg];
    return d.count == 1 && !d.partial ? &f_.code[d.last] : nullptr;
}

const Operand* RegisterDefinitions::immediate(const Operand& from, bool& negated) const {
    const Operand* o = &from;
    for (int hops = 0; hops < most_hops; ++hops) {
        if (o->kind == Kind::real || o->kind == Kind::single || o->kind == Kind::integer) return o;
        const Instruction* i = o->kind == Kind::reg ? only(o->index) : nullptr;
        if (!i) return nullptr;
        const Role r = contract_role(*i);
        if (r != Role::copy && r != Role::negation) return nullptr;
        negated ^= r == Role::negation;
        o = &operand(*i, 1);
    }
    return nullptr;
}

bool RegisterDefinitions::is_zero(const Operand& from) const {
    bool negated = false;
    const Operand* o = immediate(from, negated);
    if (!o) return false;
    const auto bits = static_cast<std::uint64_t>(o->value);
    return o->kind == Kind::real ? bits << 1 == 0 : static_cast<std::uint32_t>(bits) << 1 == 0;
}

bool RegisterDefinitions::is_unit(const Operand& from, Type type, bool& negated) const {
    const Operand* o = immediate(from, negated);
    if (!o) return false;
    std::uint64_t one, sign;  // bits
    const auto bits = static_cast<std::uint64_t>(o->value);
    if (o->kind == Kind::real) {
        one = 0x3ff0000000000000u, sign = std::uint64_t{1} << 63;
    } else if (type == Type::f32) {
        one = 0x3f800000u, sign = 0x80000000u;
    } else if (type == Type::f16 || type == Type::bf16) {
        one = type == Type::f16 ? 0x3c00u : 0x3f80u, sign = 0x8000u;
    } else {
        return false;
    }
    const std::uint64_t mask = sign | (sign - 1);
    negated ^= (bits & sign) != 0;
    return (bits & mask & ~sign) == one;
}

bool RegisterDefinitions::is_constant(const Operand& from) const {
    bool negated = false;
    if (immediate(from, negated)) return true;
    const Operand* o = &from;
    for (int hops = 0; hops < most_hops && o->kind == Kind::reg; ++hops) {
        const Instruction* i = only(o->index);
        if (!i) return false;
        const Role r = contract_role(*i);
        if (r == Role::load) return loads_constant(*i);
        if (r != Role::copy && r != Role::negation) return false;
        o = &operand(*i, 1);
    }
    return false;
}

bool RegisterDefinitions::loads_constant(const Instruction& i) const {
    const Operand& m = operand(i, 1);
    if (m.kind != Kind::memory) return false;
    const auto space = static_cast<Space>(field::space.get(i.modifiers));
    if (space == Space::constant) return m.base == Kind::variable;
    if (space != Space::param || !f_.entry) return false;
    if (m.base == Kind::frame) return is_formal(m.index);
    const Instruction* base = m.base == Kind::reg ? only(m.index) : nullptr;
    return base && contract_role(*base) == Role::copy && operand(*base, 1).kind == Kind::frame &&
           is_formal(operand(*base, 1).index);
}

bool RegisterDefinitions::is_formal(std::uint32_t variable) const {
    return variable < f_.formals.size() && f_.formals[variable] == variable;
}

}  // namespace cupola::ptx
