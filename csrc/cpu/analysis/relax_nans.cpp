// csrc/cpu/analysis/relax_nans.cpp - finds results whose NaNs no reader distinguishes.
#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using ptx::Opcode;

// Arithmetic on f32 produces the canonical NaN. A result may be any NaN if all of its readers are
// f32 arithmetic, comparisons, or conversions to narrower floats: then no program can observe which
// NaN it is.
void relax_nans(KernelAnalysis& analysis) {
    const auto is_arithmetic = [](const OpEffects& op) {
        if (!op.has_form || op.kind != Kind::lanes || op.origin.key.type != ptx::Type::f32 ||
            !has_row_type(op.origin.form))
            return false;
        switch (op.origin.form.opcode()) {
            case Opcode::add:
            case Opcode::sub:
            case Opcode::mul:
            case Opcode::fma:
            case Opcode::mad:
            case Opcode::div:
            case Opcode::sqrt:
            case Opcode::rcp:
                return true;
            default:
                return false;
        }
    };
    const auto converts = [](const OpEffects& op, ptx::Type to, ptx::Type from) {
        return op.has_form && op.kind == Kind::lanes && op.origin.form.opcode() == Opcode::cvt &&
               op.origin.key.type == to && op.origin.key.type2 == from;
    };
    std::vector<bool> is_observed(analysis.registers.size(), false);
    for (std::uint32_t r = 0; r < analysis.registers.size(); ++r)
        is_observed[r] = analysis.registers[r].in_file;
    for (const OpEffects& op : analysis.ops) {
        const bool compares = op.has_form && op.kind == Kind::lanes &&
                              op.origin.key.type == ptx::Type::f32 &&
                              op.origin.form.opcode() == Opcode::setp;
        if (compares || is_arithmetic(op) || converts(op, ptx::Type::f16, ptx::Type::f32) ||
            converts(op, ptx::Type::bf16, ptx::Type::f32))
            continue;
        for (const Access& access : op.accesses)
            if (!access.write && access.offset != 0)
                is_observed[analysis.index_at(access.offset)] = true;
    }
    for (OpEffects& op : analysis.ops) {
        if (!is_arithmetic(op) && !converts(op, ptx::Type::f32, ptx::Type::f16)) continue;
        for (const Access& access : op.accesses)
            if (access.write && access.offset != 0)
                op.any_nan = !is_observed[analysis.index_at(access.offset)];
    }
}

}  // namespace cupola::cpu::compiler
