// csrc/cpu/analysis/pipeline.cpp - the passes in the order in which they run.
#include "cpu/analysis/pipeline.hpp"

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

KernelAnalysis analyse(const KernelCode& kernel) {
    // Larger kernels take the compiler minutes.
    constexpr std::size_t max_ops = 20000;
    KernelAnalysis analysis(kernel);
    if (analysis.ops.size() > max_ops) throw UnsupportedKernel{"it has too many instructions"};
    describe_operations(analysis);
    find_registers(analysis);
    find_parameter_loads(analysis);
    build_cfg(analysis);
    propagate_constants(analysis);
    find_uniform(analysis);
    find_affine(analysis);
    // Special registers are in the register file from the start, and machine code reads them there.
    for (Register& r : analysis.registers) r.in_file |= r.special && !r.uniform;
    hoist_invariants(analysis);
    relax_nans(analysis);
    find_deferred_updates(analysis);
    find_block_batches(analysis);
    find_lane_loops(analysis);
    form_barrier_regions(analysis);
    return analysis;
}

}  // namespace cupola::cpu::compiler
