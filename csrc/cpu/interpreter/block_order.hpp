// csrc/cpu/interpreter/block_order.hpp - basic blocks and their order in the code.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

struct BasicBlock {
    std::uint32_t first = 0, end = 0;  // indices of instructions
    std::vector<std::uint32_t> successors;
    std::uint32_t predecessors = 0;
};

// A function's blocks in the order of its text. `block_of` receives the block of each instruction,
// and of the end.
std::vector<BasicBlock> basic_blocks(const ptx::Function& f, std::vector<std::uint32_t>& block_of);
// Whether control may not continue with the next instruction.
bool ends_block(const ptx::Instruction& i);

// Reverse post order in which the blocks of a loop precede the loop's exits. Lanes that run
// lowest-block-first then reconverge where control flow joins. Unreachable blocks are left out.
std::vector<std::uint32_t> order(const std::vector<BasicBlock>& blocks);
// Whether control can return to a block, given the blocks in that order.
bool has_loop(const std::vector<BasicBlock>& blocks, const std::vector<std::uint32_t>& ordered);

}  // namespace cupola::cpu::interpreter
