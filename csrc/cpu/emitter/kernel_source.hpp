// csrc/cpu/emitter/kernel_source.hpp - emits a decoded kernel as a C++ function.
#pragma once

#include <cstddef>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/source.hpp"
#include "cpu/emitter/tier.hpp"

namespace cupola::cpu::compiler {

// The source of a kernel, whose function is `name_of_kernel(n)`. Sources with different n may be
// combined. It includes csrc/cpu/emitted/emitted.hpp. Throws UnsupportedKernel.
Source source_of(const KernelAnalysis& analysis, std::size_t n, Tier tier = Tier::full);
std::string name_of_kernel(std::size_t n);

}  // namespace cupola::cpu::compiler
