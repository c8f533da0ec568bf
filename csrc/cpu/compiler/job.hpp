// csrc/cpu/compiler/job.hpp - kernels that become one library: their source, and what else launches
// need of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/emitter/cpp_emitter.hpp"
#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::compiler {

using interpreter::MachineCode;
using interpreter::MachineCodeSlot;

// The kernel stays interpreted.
void fail(MachineCodeSlot& slot, const std::string& why) noexcept;

struct Job {
    std::string hint;
    Source source;
    std::vector<std::shared_ptr<MachineCodeSlot>> slots;
    std::vector<std::unique_ptr<MachineCode>> frames;

    // Prints a kernel, whose slot is in state `making`. Kernels that cannot be printed fail.
    void add(const interpreter::KernelCode& kernel);
    // The only kernel's function.
    void deliver(interpreter::MachineCodeRun run);
    // By the symbols of a library; without one, all fail.
    void deliver(void* library, const std::string& why);
    // Ends state `making` whatever happens: others may wait for it.
    void give_up(const char* why) noexcept;
};

// Digits that tell most kernels from others, by what is known before one is printed.
std::string hint_of(const interpreter::KernelCode& kernel);

}  // namespace cupola::cpu::compiler
