// csrc/cpu/compiler/background.hpp - threads that have kernels compiled while launches interpret
// them.
#pragma once

#include <memory>

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::compiler {

// Has a kernel compiled, whose slot is in state `making`. Of several, the one that has taken the
// most time is the next. Throws std::bad_alloc where no thread can be started.
void compile_later(std::shared_ptr<const interpreter::KernelCode> kernel);
// Starts no compiler from here on. Compilers that run continue.
void stop_compiling();

}  // namespace cupola::cpu::compiler
