// csrc/cpu/interpreter/stepped_code.hpp - a kernel's code for blocks that run one operation at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/interpreter/effect.hpp"

namespace cupola::cpu::interpreter {

// Made once for a kernel. A handler ends with a call of the next operation's handler. In `code` all
// of those only return, so each of `handlers` executes one operation.
struct SteppedCode {
    explicit SteppedCode(const KernelCode& kernel);

    std::uint32_t index_of(const DecodedOp* ip) const {
        return static_cast<std::uint32_t>(ip - code.data());
    }
    const Effect& effect_at(const DecodedOp* ip) const { return effects[index_of(ip)]; }

    const std::uint64_t number;  // different for each kernel of the process
    std::vector<DecodedOp> code;
    std::vector<Handler> handlers;
    std::vector<Effect> effects;
};

std::shared_ptr<const SteppedCode> stepped_code(const KernelCode& kernel);

}  // namespace cupola::cpu::interpreter
