// csrc/cpu/analysis/find_uniform.cpp - finds registers with one value in all lanes, which never
// changes.
#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

// A register that is written once, from values that never change, never changes either. All lanes
// that read it see the same value.
void find_uniform(KernelAnalysis& analysis) {
    std::vector<std::uint32_t> work;
    for (std::uint32_t n = 0; n < analysis.registers.size(); ++n)
        if (analysis.registers[n].special && analysis.registers[n].uniform)
            analysis.uniform.push_back(n);
    // One pass in code order finds nearly all uniform registers. The bound limits the time for
    // hostile code.
    unsigned passes = 16;
    for (bool changed = true; changed && passes-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
            const OpEffects& op = analysis.ops[n];
            if (op.guarded || (op.kind != Kind::lanes && op.kind != Kind::parameter)) continue;
            bool can = true, fresh = false, of_warp = false, of_x = false;
            for (const Access& access : op.accesses) {
                if (access.offset == 0) {
                    can &= access.write;
                    continue;
                }
                const Register& r = *analysis.at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.in_file && !r.special && !r.constant;
                    fresh |= !r.uniform;
                } else {
                    can &= r.uniform && !(r.in_file && !r.constant);
                    of_warp |= r.per_warp;
                    of_x |= r.varies_in_x;
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : op.accesses)
                if (access.write && access.offset != 0) {
                    analysis.reg(access.offset).uniform = true;
                    analysis.reg(access.offset).per_warp = of_warp;
                    analysis.reg(access.offset).varies_in_x = of_x;
                    analysis.uniform.push_back(analysis.index_at(access.offset));
                }
            changed = true;
        }
    }
}

}  // namespace cupola::cpu::compiler
