// csrc/cpu/exec/native.hpp - a kernel as machine code, made of its decoded code by csrc/cpu/native:
// what the two have in common. Plain data, as printed code includes it.
//
// Warps are in the same state under both ways of running: places are Codes, registers lie in the
// register file whenever machine code is left. So a warp may go on interpreted wherever machine
// code has no entry, and come back at the next entry.
#pragma once

#include "cpu/exec/code.hpp"

namespace cupola::cpu::exec {

// What machine code asks of the interpreter.
struct Services {
    const Code* code = nullptr;         // places, one for each of the kernel's Codes
    const Handler* handlers = nullptr;  // does the instruction at a place, and says where to go on
    const std::uint8_t* entry = nullptr;  // whether machine code may begin at a place
    const Code* halt = nullptr;           // where a warp stands that leaves
    const Code* (*arrive)(Warp& w, const Code* at) = nullptr;
    const Code* (*expire)(Warp& w, const Code* at) = nullptr;
    void (*set_mask)(Warp& w, std::uint32_t mask) = nullptr;
    bool (*release)(Block& block, unsigned id) = nullptr;  // a barrier, if it is complete
};

// Runs from an entry on; returns where to go on by handlers, or nullptr where the warp leaves.
// Without a place, where the kernel sweeps (native/sweep.cpp): does whole blocks, whose rows of
// threads are full warps, from `index_of_block` along a row to `end_of_sweep`, or to the first of
// them that can't be done so. That index is left, with the number of `swept_warps` in that block.
// The warp is any of a block that has not begun.
// Those behind it in the block may have had their turns then: `ip` belongs to the warp at work.
using NativeRun = const Code* (*)(const Code* ip, Warp& w, std::byte* registers, const Services&);

// What a library that was made ahead of time has of each kernel.
struct Ahead {
    char key[65];  // of the source that it was made of
    NativeRun run;
};

}  // namespace cupola::cpu::exec
