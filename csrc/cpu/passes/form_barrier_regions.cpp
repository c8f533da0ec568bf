// csrc/cpu/passes/form_barrier_regions.cpp - finds kernels whose warps run region by region.
//
// A region is the code between barriers of all threads. If control that leads to them is uniform,
// all warps end a region at the same barrier, which emitted code tests. A kernel with an operation
// that waits for other warps in another way does not run so.
#include <algorithm>

#include "cpu/ir/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

bool KernelAnalysis::is_block_barrier(std::uint32_t n) const {
    const OpEffects& op = ops[n];
    if (op.kind != Kind::barrier || op.guarded) return false;
    const Register *id = at(op.accesses[0].offset), *count = at(op.accesses[1].offset);
    return id && id->constant && id->value < 16 && count && count->constant && count->value == 0 &&
           n + 1 < ops.size();
}

void KernelAnalysis::form_barrier_regions() {
    for (std::uint32_t n = 0; n < ops.size(); ++n) {
        if (is_block_barrier(n))
            has_barrier_regions = true;
        else if (ops[n].entry_after && !ops[n].opaque) {
            has_barrier_regions = false;
            return;
        }
    }
}

}  // namespace cupola::cpu::compiler
