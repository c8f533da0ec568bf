// csrc/cpu/exec/flow.hpp - basic blocks and the order they are laid out in.
#pragma once

#include <cstdint>
#include <vector>

namespace cupola::cpu::exec {

struct BasicBlock {
    std::uint32_t first = 0, end = 0;  // instructions
    std::vector<std::uint32_t> successors;
    std::uint32_t predecessors = 0;
};

// Reverse post order in which every loop's blocks come before the blocks that the loop leaves to:
// lanes that run lowest-block-first then meet again where control flow does. Blocks that cannot be
// reached are left out.
std::vector<std::uint32_t> order(const std::vector<BasicBlock>& blocks);

}  // namespace cupola::cpu::exec
