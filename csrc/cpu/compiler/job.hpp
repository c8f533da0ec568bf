// csrc/cpu/compiler/job.hpp - kernels that become one library: their source and their launch data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/emitter/kernel_source.hpp"
#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::compiler {

using interpreter::MachineCode;
using interpreter::MachineCodeSlot;

// The kernel stays interpreted, or keeps the code of the quick tier.
void fail(MachineCodeSlot& slot, const std::string& why) noexcept;

struct Job {
    explicit Job(Tier of = Tier::full) : tier(of) {}

    Tier tier;
    std::string hint;
    Source source;
    std::vector<std::shared_ptr<MachineCodeSlot>> slots;
    std::vector<std::unique_ptr<MachineCode>> frames;

    // Emits a kernel whose slot is in state `making`. A kernel that is not supported fails.
    void add(const interpreter::KernelCode& kernel);
    // Installs the function of the only kernel.
    void install(interpreter::MachineCodeRun run);
    // Installs the functions of a library. Without a library, all kernels fail.
    void install(void* library, const std::string& why);
    // Ends state `making` in any case, because other threads may wait for it.
    void fail_all(const char* why) noexcept;
};

// Digits that distinguish most kernels, known before a kernel is emitted.
std::string hint_of(const interpreter::KernelCode& kernel);

}  // namespace cupola::cpu::compiler
