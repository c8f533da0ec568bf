// csrc/cpu/analysis/ir_text.hpp - the analysis of a kernel as text.
#pragma once

#include <string>

#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu::compiler {

// The kernel's operations and the values of their operands; or why it cannot be analysed.
std::string ir_of(const Kernel& kernel);

}  // namespace cupola::cpu::compiler
