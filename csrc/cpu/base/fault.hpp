// csrc/cpu/base/fault.hpp - the faults of a launch. Plain data, because generated code includes it.
#pragma once

namespace cupola::cpu {

enum class FaultKind {
    illegal_address,
    misaligned_address,
    address_space,
    illegal_instruction,
    trap,
    assertion,
    stack_overflow,
    out_of_memory,
    tensor_memory_leak,
    stopped,  // Launch::stop was set
};

}  // namespace cupola::cpu
