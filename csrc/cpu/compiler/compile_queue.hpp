// csrc/cpu/compiler/compile_queue.hpp - threads that compile kernels while launches interpret them.
#pragma once

#include <memory>

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::compiler {

// Queues a kernel whose slot is in state `making`. The kernel that has taken the most time is
// compiled first. Throws std::bad_alloc if no thread can be started.
void compile_later(std::shared_ptr<const interpreter::KernelCode> kernel);
// Starts no more compilers. Those that run continue.
void stop_compiling();

}  // namespace cupola::cpu::compiler
