// csrc/ptx/straight_line.hpp - the basic blocks of a function as NVIDIA's assembler forms them.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::ptx {

// A sequence of instructions without a branch into or out of its middle. Blocks that always run one
// after another are one line, and instructions that cannot be reached are in none.
struct StraightLine {
    std::vector<std::uint32_t> code;        // indices of instructions, in their order
    std::vector<std::uint32_t> successors;  // lines
    std::uint32_t parent = absent;          // the immediate dominator; none for the first line
    std::uint32_t depth = 0;                // in the tree of dominators
};

// The first line has the function's first instruction. Time is linear but for the dominators: where
// a graph would need too many rounds, `dominators` is false and the tree is not filled in.
struct StraightLines {
    std::vector<StraightLine> list;
    bool dominators = false;

    bool dominates(std::uint32_t a, std::uint32_t b) const;
};

StraightLines straight_lines(const Function& f);

}  // namespace cupola::ptx
