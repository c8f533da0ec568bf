// csrc/cpu/analysis/form_barrier_regions.cpp - finds kernels whose warps run region by region.
//
// A region is the code between barriers of all threads. If control that leads to them is uniform,
// all warps end a region at the same barrier, which emitted code tests. A kernel with an operation
// that waits for other warps in another way does not run so.
#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

void form_barrier_regions(KernelAnalysis& analysis) {
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        if (analysis.is_block_barrier(n))
            analysis.has_barrier_regions = true;
        else if (analysis.ops[n].entry_after && !analysis.ops[n].opaque) {
            analysis.has_barrier_regions = false;
            return;
        }
    }
}

}  // namespace cupola::cpu::compiler
