// csrc/cpu/interpreter/counters.hpp - counts lanes and warps for coverage.
//
// Inline, because machine code uses these functions too.
#pragma once

#include "cpu/interpreter/divergence.hpp"

namespace cupola::cpu::interpreter {

[[gnu::always_inline]] inline void count_lines(Warp& w, std::uint32_t mask, std::uint32_t word) {
    std::uint64_t* const counts = w.block->counts + word;
    counts[0] += count_lanes(mask);
    counts[1] += 1;
}

[[gnu::always_inline]] inline void count_branch(Warp& w, std::uint32_t mask, std::uint32_t taken,
                                                std::uint32_t word) {
    std::uint64_t* const counts = w.block->counts + word;
    const std::uint32_t others = mask & ~taken;
    counts[0] += count_lanes(mask & taken);
    counts[1] += count_lanes(others);
    counts[2] += (mask & taken) != 0 && others != 0 ? 1 : 0;
}

}  // namespace cupola::cpu::interpreter
