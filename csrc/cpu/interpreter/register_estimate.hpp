// csrc/cpu/interpreter/register_estimate.hpp - an estimate of a kernel's register count.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

// The registers of a thread, as the occupancy calculator needs them. `functions`: the kernel, which
// is the last, and its callees. `threads`: the largest block.
std::uint32_t estimate_registers(const ptx::Module& module,
                                 const std::vector<std::uint32_t>& functions,
                                 std::uint32_t threads);

}  // namespace cupola::cpu::interpreter
