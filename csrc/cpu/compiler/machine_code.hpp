// csrc/cpu/compiler/machine_code.hpp - machine code of kernels, compiled in the background or at
// once.
#pragma once

#include <string>
#include <vector>

#include "cpu/base/mode.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu::compiler {

// The largest number of compilers that run at once.
void set_processor_count(int count);
// Uses code that was compiled ahead of time; if `cached`, also code that an earlier process
// compiled. Starts no process.
void load_compiled(const Kernel& kernel, bool cached);
// Compiles these kernels as one library, and waits, if the mode compiles before the first launch.
// Returns whether it does. The reason of a failure is stored with the kernel.
bool compile_before_launch(const std::vector<const Kernel*>& kernels, Mode mode);
// Whether launches interpret the kernel at the moment.
bool is_interpreted(const Kernel& kernel);
// Records the time for which the kernel was interpreted. After enough time, the kernel is compiled
// in the background. Blocks that begin later use the code.
void record_interpreted(const Kernel& kernel, std::uint64_t nanoseconds);
inline constexpr const char* compiled = "compiled";
inline constexpr const char* compiled_quickly = "compiled, quick tier";
// One of the two above, "interpreted", or the reason why the kernel has no machine code.
std::string state_of(const Kernel& kernel);
// The kernel's emitted source, which a compiler receives after the semantics.
std::string emitted_source(const Kernel& kernel);
// Lines that say what a process in this mode compiles, with which compiler, and where the code is
// kept.
std::string description(Mode mode);
// Starts no more compilers, and does not wait for running ones. Background compilers continue if
// the cache keeps their results.
void stop();

}  // namespace cupola::cpu::compiler
