// csrc/ptx/register_definitions.hpp - where a function's registers get their values.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/contract_role.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

template <class Visit>
void each_register_of(const Function& f, const Operand& o, bool to, bool both, Visit&& visit) {
    if (o.second != absent) visit(o.second, to, !to || both);
    switch (o.kind) {
        case Operand::Kind::reg:
            visit(o.index, to, !to || both || o.selector != 0);
            return;
        case Operand::Kind::memory:
            if (o.base == Operand::Kind::reg) visit(o.index, false, true);
            return;
        case Operand::Kind::texel:
            if (o.base == Operand::Kind::reg) visit(o.index, false, true);
            for (std::uint32_t e = 0; e < o.count; ++e)
                each_register_of(f, f.operands[static_cast<std::size_t>(o.value) + e], false, false,
                                 visit);
            return;
        case Operand::Kind::vector:
            for (std::uint32_t e = 0; e < o.count; ++e)
                each_register_of(f, f.operands[o.index + e], to, both, visit);
            return;
        default:
            return;
    }
}

// Calls `visit(register, written, read)` for the registers of an instruction.
template <class Visit>
void each_register(const Function& f, const Instruction& i, Visit&& visit) {
    const Form& form = i.form.form();
    unsigned place = 0;
    for (std::uint32_t k = 0; k < i.operands; ++k) {
        while (place < form.operands.count &&
               (form.operands.list[place] == OperandConstraint::cc_in ||
                form.operands.list[place] == OperandConstraint::cc_out))
            ++place;
        const bool to = place < form.operands.count && is_destination(form.operands.list[place]);
        const bool both = to && form.operands.list[place] == OperandConstraint::fd;
        ++place;
        each_register_of(f, f.operands[i.operand + k], to, both, visit);
    }
    if (i.call != absent && f.calls[i.call].pointer != absent)
        visit(f.calls[i.call].pointer, false, true);
}

class RegisterDefinitions {
  public:
    explicit RegisterDefinitions(const Function& f);

    std::uint32_t count(std::uint32_t reg) const { return list_[reg].count; }
    // The instruction that alone gives a register its value, or null.
    const Instruction* only(std::uint32_t reg) const;

    // Follows copies and changes of sign to an immediate operand, if any. `negated` is its sign.
    const Operand* immediate(const Operand& from, bool& negated) const;
    bool is_zero(const Operand& from) const;
    // Whether an operand of a product is 1 or -1; the product is then a copy of the other operand.
    bool is_unit(const Operand& from, Type type, bool& negated) const;
    // Whether an operand is an immediate, a parameter of the kernel or lies at a fixed place in
    // .const: an instruction of the hardware reads these without a register.
    bool is_constant(const Operand& from) const;

  private:
    struct Definition {
        std::uint32_t count = 0, last = absent;
        bool partial = false;  // a guard or a part leaves old bits
    };

    const Operand& operand(const Instruction& i, unsigned n) const {
        return f_.operands[i.operand + n];
    }
    bool loads_constant(const Instruction& i) const;
    bool is_formal(std::uint32_t variable) const;

    const Function& f_;
    std::vector<Definition> list_;
};

}  // namespace cupola::ptx
