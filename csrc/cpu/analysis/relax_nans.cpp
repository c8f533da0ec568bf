// csrc/cpu/analysis/relax_nans.cpp - finds results whose NaNs no reader distinguishes.
#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using ptx::Opcode;

namespace {

bool converts(const OpEffects& op, ptx::Type to, ptx::Type from) {
    return op.has_form && op.kind == Kind::lanes && op.origin.form.opcode() == Opcode::cvt &&
           op.origin.key.type == to && op.origin.key.type2 == from;
}

bool is_arithmetic(const OpEffects& op) {
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
}

bool may_distinguish_nans(const OpEffects& op) {
    const bool compares = op.has_form && op.kind == Kind::lanes &&
                          op.origin.key.type == ptx::Type::f32 &&
                          op.origin.form.opcode() == Opcode::setp;
    return !compares && !is_arithmetic(op) && !converts(op, ptx::Type::f16, ptx::Type::f32) &&
           !converts(op, ptx::Type::bf16, ptx::Type::f32);
}

// Whether a lane that starts an iteration of the block's loop executes it to the end in emitted
// code. Only operations that may wait end an iteration elsewhere.
bool is_whole_loop(const KernelAnalysis& analysis, std::uint32_t b) {
    const auto ops = analysis.ops.begin();
    const Block& block = analysis.blocks[b];
    return analysis.is_straight_loop(b) &&
           std::all_of(ops + block.first, ops + block.end - 1,
                       [](const OpEffects& op) { return never_waits(op.kind); });
}

// A sum that only arithmetic of its loop reads may be any NaN until lanes leave the loop. So an
// iteration does not wait for a test of the sum.
void relax_sums(KernelAnalysis& analysis, Block& block) {
    std::vector<unsigned> writes(analysis.registers.size(), 0);
    std::vector<bool> is_observed(analysis.registers.size(), false);
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        const OpEffects& op = analysis.ops[n];
        for (const Access& access : op.accesses) {
            if (access.offset == 0) continue;
            const std::uint32_t r = analysis.index_at(access.offset);
            if (access.write) ++writes[r];
            if (access.write ? op.guarded || op.hoisted : may_distinguish_nans(op))
                is_observed[r] = true;
        }
    }
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        OpEffects& op = analysis.ops[n];
        if (op.any_nan || !is_arithmetic(op)) continue;
        for (const Access& access : op.accesses) {
            if (!access.write || access.offset == 0) continue;
            const std::uint32_t r = analysis.index_at(access.offset);
            const Register& to = analysis.registers[r];
            if (writes[r] != 1 || is_observed[r] || to.in_file || to.uniform || to.constant ||
                to.single_assignment || to.bytes != 4)
                continue;
            op.any_nan = true;
            block.sums.push_back(r);
        }
    }
}

}  // namespace

// Arithmetic on f32 produces the canonical NaN. A result may be any NaN if all of its readers are
// f32 arithmetic, comparisons, or conversions to narrower floats: then no program can observe which
// NaN it is.
void relax_nans(KernelAnalysis& analysis) {
    std::vector<bool> is_observed(analysis.registers.size(), false);
    for (std::uint32_t r = 0; r < analysis.registers.size(); ++r)
        is_observed[r] = analysis.registers[r].in_file;
    for (const OpEffects& op : analysis.ops) {
        if (!may_distinguish_nans(op)) continue;
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
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b)
        if (is_whole_loop(analysis, b)) relax_sums(analysis, analysis.blocks[b]);
}

}  // namespace cupola::cpu::compiler
