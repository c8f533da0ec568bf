// csrc/cpu/analysis/passes.hpp - the passes over the analysis of a kernel, each a file of its name.
//
// pipeline.cpp has their order. A pass throws UnsupportedKernel for a kernel that is not compiled.
#pragma once

#include "cpu/analysis/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

void describe_operations(KernelAnalysis& analysis);
void find_registers(KernelAnalysis& analysis);
void find_parameter_loads(KernelAnalysis& analysis);
void build_cfg(KernelAnalysis& analysis);
void propagate_constants(KernelAnalysis& analysis);
void find_uniform(KernelAnalysis& analysis);
void find_affine(KernelAnalysis& analysis);
void hoist_invariants(KernelAnalysis& analysis);
void relax_nans(KernelAnalysis& analysis);
void find_block_batches(KernelAnalysis& analysis);
void find_deferred_updates(KernelAnalysis& analysis);
void find_lane_loops(KernelAnalysis& analysis);
void form_barrier_regions(KernelAnalysis& analysis);

// Whether emitted code has rows of this group as types: see emitted/rows.hpp.
bool has_row_type(ptx::FormId form);  // describe_operations.cpp
// Whether an operation is an integer comparison whose result is monotonic in its operands.
bool is_ordered(const OpEffects& op);   // find_block_batches.cpp
bool is_equality(const OpEffects& op);  // find_block_batches.cpp; of integers

}  // namespace cupola::cpu::compiler
