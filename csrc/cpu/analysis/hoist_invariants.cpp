// csrc/cpu/analysis/hoist_invariants.cpp - finds values that are computed once, when a warp starts.
//
// They are of registers that are written once, from values that never change, and that are live
// where lanes wait. Others of these are spilled where they are written, not at each wait.
#include <numeric>
#include <set>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

namespace {

// Finds the invariant operations that loops would repeat, and the operations that they depend on.
void find_hoisted(KernelAnalysis& analysis, const std::vector<std::uint32_t>& found) {
    // Loop depth of each block: counts the backward branches that span it, by prefix sums.
    std::vector<std::int32_t> loops(analysis.blocks.size() + 1);
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b)
        for (const std::uint32_t to : analysis.blocks[b].successors)
            if (to <= b) ++loops[to], --loops[b + 1];
    std::partial_sum(loops.begin(), loops.end(), loops.begin());
    std::set<std::int32_t> needed;
    for (std::size_t k = found.size(); k-- > 0;) {
        OpEffects& op = analysis.ops[found[k]];
        op.hoisted = loops[analysis.block_of[found[k]]] > 0;
        for (const Access& access : op.accesses)
            op.hoisted |= access.write && needed.count(access.offset) != 0;
        if (!op.hoisted) continue;
        for (const Access& access : op.accesses) {
            if (!access.write)
                needed.insert(access.offset);
            else if (access.offset != 0)
                analysis.reg(access.offset).in_file = true;
        }
        analysis.hoisted.insert(analysis.hoisted.begin(), found[k]);
    }
}

}  // namespace

void hoist_invariants(KernelAnalysis& analysis) {
    if (!analysis.waits()) return;
    const auto never_changes = [&](const Register& r) {
        return r.single_assignment || r.uniform || r.constant || r.special;
    };
    std::vector<std::uint32_t> found;  // definitions before uses
    unsigned passes = 16;
    for (bool changed = true; changed && passes-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
            const OpEffects& op = analysis.ops[n];
            if (op.guarded || (op.kind != Kind::lanes && op.kind != Kind::logic)) continue;
            bool can = true, fresh = false;
            for (const Access& access : op.accesses) {
                if (access.offset == 0) continue;
                const Register& r = *analysis.at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.in_file && !r.special && !r.uniform;
                    fresh |= !r.single_assignment;
                } else {
                    can &= never_changes(r);
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : op.accesses)
                if (access.write && access.offset != 0)
                    analysis.reg(access.offset).single_assignment = true;
            found.push_back(n);
            changed = true;
        }
    }
    find_hoisted(analysis, found);
    // The affine form of a value is usually enough. Where it is not, the register is filled from
    // the register file.
    for (Register& r : analysis.registers) {
        r.single_assignment &= r.live_across_blocks;
        r.in_file |= r.single_assignment && r.invariant_affine;
        r.single_assignment &= !r.in_file;
    }
}

}  // namespace cupola::cpu::compiler
