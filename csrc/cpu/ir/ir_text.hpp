// csrc/cpu/ir/ir_text.hpp - the analysis of a kernel as text.
#pragma once

#include <string>

#include "cpu/execute.hpp"

namespace cupola::cpu::compiler {

// The kernel's operations and what is known of their values; where it can't be analysed, why.
std::string ir_of(const Kernel& kernel);

}  // namespace cupola::cpu::compiler
