// csrc/cpu/analysis/pipeline.hpp - analyses a kernel for machine code.
#pragma once

#include "cpu/analysis/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

// Runs the passes. Throws UnsupportedKernel.
KernelAnalysis analyse(const KernelCode& kernel);

}  // namespace cupola::cpu::compiler
