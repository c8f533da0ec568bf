// csrc/cpu/analysis/find_lane_loops.cpp - finds loops that a warp's lanes execute one after
// another.
//
// It applies to a loop of one basic block without stores, whose loads all have scattered addresses.
// A vector of 32 lanes gains little there: each lane's element is loaded by itself, and lanes that
// have left the loop still take their share of each vector. Without stores, no lane can observe in
// which order the lanes run.
#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {
namespace {

// Arithmetic operations for each load. With more of them, vectors are faster.
constexpr unsigned max_arithmetic = 4;

bool is_value(const Register& r) { return r.constant || r.uniform; }

// Whether a scalar can hold the operand while a lane runs. A lane may read the register file, but
// does not write it.
bool is_scalar(const KernelAnalysis& analysis, const Access& access) {
    const Register* const r = analysis.at(access.offset);
    if (!r || is_value(*r)) return true;
    if (r->bytes != access.bytes || r->bytes > 8) return false;
    return !r->in_file || (!access.write && r->bytes != 0);
}

bool is_scattered_load(const KernelAnalysis& analysis, std::uint32_t n) {
    const OpEffects& op = analysis.ops[n];
    const Register* const address = analysis.at(op.accesses[0].offset);
    return op.accesses.size() == 2 && address && !is_value(*address) && !address->is_affine;
}

// Whether an address depends on what an earlier iteration has loaded, as in a list or a search.
// Vectors then wait for the loads of all lanes together.
bool follows_loads(const KernelAnalysis& analysis, const Block& block) {
    std::vector<bool> carried(analysis.registers.size(), false);
    for (;;) {
        // Registers whose values come from loads of earlier iterations, and of this iteration.
        std::vector<bool> earlier = carried, now(carried.size(), false);
        for (std::uint32_t n = block.first; n < block.end; ++n) {
            const OpEffects& op = analysis.ops[n];
            bool from_earlier = false, from_now = op.kind == Kind::load;
            for (const Access& access : op.accesses) {
                if (access.write || access.offset == 0) continue;
                from_earlier |= earlier[analysis.index_at(access.offset)];
                from_now |= now[analysis.index_at(access.offset)];
            }
            if (op.kind == Kind::load && from_earlier) return true;
            for (const Access& access : op.accesses) {
                if (!access.write || access.offset == 0) continue;
                const std::uint32_t to = analysis.index_at(access.offset);
                earlier[to] = from_earlier || (op.guarded && earlier[to]);
                now[to] = from_now || (op.guarded && now[to]);
            }
        }
        bool changed = false;
        for (std::size_t r = 0; r < carried.size(); ++r) {
            const bool after = block.live[r] && (carried[r] || earlier[r] || now[r]);
            changed |= after && !carried[r];
            carried[r] = after;
        }
        if (!changed) return false;
    }
}

bool is_lane_loop(const KernelAnalysis& analysis, std::uint32_t b) {
    const Block& block = analysis.blocks[b];
    const OpEffects& last = analysis.ops[block.end - 1];
    if (!analysis.is_straight_loop(b)) return false;
    const Register* const condition = analysis.at(last.accesses[0].offset);
    if (!condition || is_value(*condition) || condition->in_file || condition->single_assignment)
        return false;
    unsigned loads = 0, arithmetic = 0;
    for (std::uint32_t n = block.first; n + 1 < block.end; ++n) {
        const OpEffects& op = analysis.ops[n];
        if (op.hoisted) continue;
        const bool load = op.kind == Kind::load, computes = op.kind == Kind::lanes;
        if (!load && !computes && op.kind != Kind::guard_begin && op.kind != Kind::guard_end)
            return false;
        for (const Access& access : op.accesses) {
            const Register* const to = access.write ? analysis.at(access.offset) : nullptr;
            if (!is_scalar(analysis, access) || (to && to->single_assignment)) return false;
        }
        if (load && !is_scattered_load(analysis, n)) return false;
        loads += load;
        arithmetic += computes;
    }
    return loads != 0 && arithmetic <= max_arithmetic * loads && !follows_loads(analysis, block);
}

}  // namespace

void find_lane_loops(KernelAnalysis& analysis) {
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b)
        analysis.blocks[b].is_lane_loop = is_lane_loop(analysis, b);
}

}  // namespace cupola::cpu::compiler
