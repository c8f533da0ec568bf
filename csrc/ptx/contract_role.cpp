// csrc/ptx/contract_role.cpp - reads the part that a row plays from its semantics and opcode.
#include "ptx/contract_role.hpp"

#include <iterator>
#include <string_view>

namespace cupola::ptx {
namespace {

#define FORM(mnemonic, semantics, ...) #semantics,
constexpr std::string_view integer_semantics[] = {
#include "ptx/table/integer.inc"
};
constexpr std::string_view real_semantics[] = {
#include "ptx/table/real.inc"
};
constexpr std::string_view move_semantics[] = {
#include "ptx/table/move.inc"
};
#undef FORM

constexpr ContractRole arithmetic_role(std::string_view s) {
    constexpr std::string_view pairs = "Pairwise<";
    if (s.substr(0, pairs.size()) == pairs) s = s.substr(pairs.size(), s.size() - pairs.size() - 1);
    if (s == "MulReal") return ContractRole::product;
    if (s == "AddReal") return ContractRole::sum;
    if (s == "SubReal") return ContractRole::difference;
    if (s == "FmaReal") return ContractRole::fused;
    if (s == "NegReal") return ContractRole::negation;
    // Estimates of these functions have no rounding modifier, except that of 1/sqrt in f64.
    if (s == "DivReal" || s == "RcpReal" || s == "SqrtReal" || s == "RsqrtCoarse" || s == "Div" ||
        s == "Rem" || s == "Bfind")
        return ContractRole::iteration;
    if (s == "Move") return ContractRole::copy;
    if (s == "Load") return ContractRole::load;
    return ContractRole::none;
}

ContractRole opcode_role(Opcode opcode) {
    switch (opcode) {
        case Opcode::set:
        case Opcode::setp:
            return ContractRole::comparison;
        case Opcode::bra:
            return ContractRole::branch;
        case Opcode::brx_idx:
            return ContractRole::table_branch;
        case Opcode::exit:
        case Opcode::ret:
        case Opcode::trap:
            return ContractRole::leave;
        case Opcode::call:
            return ContractRole::call;
        case Opcode::brkpt:
        case Opcode::fence:
        case Opcode::griddepcontrol_launch_dependents:
        case Opcode::membar:
        case Opcode::pmevent:
            return ContractRole::fence;
        default:
            return ContractRole::none;
    }
}

template <std::size_t count>
struct Roles {
    ContractRole list[count];
};
template <std::size_t count>
constexpr Roles<count> roles_of(const std::string_view (&semantics)[count]) {
    Roles<count> roles{};
    for (std::size_t n = 0; n < count; ++n) roles.list[n] = arithmetic_role(semantics[n]);
    return roles;
}

constexpr auto integers = roles_of(integer_semantics);
constexpr auto reals = roles_of(real_semantics);
constexpr auto moves = roles_of(move_semantics);

ContractRole role_of(FormId id) {
    switch (static_cast<InstructionGroupId>(id.group())) {
        case InstructionGroupId::integer:
            return integers.list[id.row()];
        case InstructionGroupId::real:
            return reals.list[id.row()];
        case InstructionGroupId::move:
            return moves.list[id.row()];
        case InstructionGroupId::compare:
        case InstructionGroupId::control:
        case InstructionGroupId::sync:
            return opcode_role(id.opcode());
        default:
            return ContractRole::none;
    }
}

FormId row_of(ContractRole role, Type type) {
    for (unsigned row = 0; row < std::size(reals.list); ++row) {
        const Types& types = table::real[row].types;
        if (reals.list[row] != role) continue;
        for (unsigned n = 0; n < types.count; ++n)
            if (types.list[n] == type)
                return {static_cast<unsigned>(InstructionGroupId::real), row};
    }
    return {};
}

bool accesses_memory(const Form& form) {
    for (unsigned n = 0; n < form.operands.count; ++n)
        if (form.operands.list[n] == OperandConstraint::m) return true;
    return false;
}

// An iteration: NVIDIA's assembler calls a function with branches for it.
bool is_long(const Instruction& i) {
    if (static_cast<InstructionGroupId>(i.form.group()) == InstructionGroupId::real)
        return field::round.get(i.modifiers) != 0 ||
               (i.type == Type::f64 && field::ftz.get(i.modifiers) == 0);
    const bool finds = i.form.form().operands.count == 2;  // bfind
    return finds ? bytes_of(i.type) == 8 : i.type != Type::u32;
}

}  // namespace

ContractRole contract_role(const Instruction& i) {
    const ContractRole role = role_of(i.form);
    // PTX has no negation of f32x2, which a fused difference would need.
    if (role == ContractRole::difference && i.type == Type::f32x2) return ContractRole::none;
    if (role == ContractRole::comparison && i.type != Type::f32 && i.type2 != Type::f32)
        return ContractRole::none;
    return role == ContractRole::iteration && !is_long(i) ? ContractRole::none : role;
}

FormId fused_row(Type type) { return row_of(ContractRole::fused, type); }
FormId negation_row(Type type) { return row_of(ContractRole::negation, type); }

bool is_packed(Type type) {
    return type == Type::f16x2 || type == Type::bf16x2 || type == Type::f32x2;
}

bool is_destination(OperandConstraint constraint) {
    switch (constraint) {
        case OperandConstraint::d:
        case OperandConstraint::dw:
        case OperandConstraint::d32:
        case OperandConstraint::d8:
        case OperandConstraint::dr:
        case OperandConstraint::p:
        case OperandConstraint::pq:
        case OperandConstraint::dp:
        case OperandConstraint::vd:
        case OperandConstraint::dv:
        case OperandConstraint::dpack:
        case OperandConstraint::fetched:
        case OperandConstraint::fd:
        case OperandConstraint::td:
        case OperandConstraint::tr:
            return true;
        default:
            return false;
    }
}

bool splits_block(const Instruction& i) {
    const ContractRole role = contract_role(i);
    if (role == ContractRole::iteration || role == ContractRole::fence ||
        role == ContractRole::call)
        return true;
    if (i.guard == absent) return false;
    switch (static_cast<InstructionGroupId>(i.form.group())) {
        case InstructionGroupId::integer:
        case InstructionGroupId::real:
        case InstructionGroupId::compare:
        case InstructionGroupId::convert:
        case InstructionGroupId::video:
            return false;
        default:
            return accesses_memory(i.form.form()) ||
                   static_cast<InstructionGroupId>(i.form.group()) != InstructionGroupId::move;
    }
}

}  // namespace cupola::ptx
