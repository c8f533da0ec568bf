// csrc/cpu/exec/native.hpp - the interface between machine code and the interpreter.
//
// csrc/cpu/native makes machine code of a kernel's decoded code. Printed code includes this file,
// so it holds plain data only.
//
// A warp's state is the same for both: a pc is a Code, and registers are in the register file
// whenever machine code returns. A warp is therefore interpreted where machine code has no entry,
// and returns to machine code at the next entry.
#pragma once

#include "cpu/exec/code.hpp"

namespace cupola::cpu::exec {

// Functions and tables of the interpreter for machine code.
struct Services {
    const Code* code = nullptr;           // the pcs: one Code for each of the kernel's
    const Handler* handlers = nullptr;    // executes the instruction at a pc, returns the next pc
    const std::uint8_t* entry = nullptr;  // whether machine code may enter at a pc
    const Code* halt = nullptr;           // the pc of a warp that leaves
    const Code* (*arrive)(Warp& w, const Code* at) = nullptr;
    const Code* (*expire)(Warp& w, const Code* at) = nullptr;
    void (*set_mask)(Warp& w, std::uint32_t mask) = nullptr;
    bool (*release)(Block& block, unsigned id) = nullptr;  // a barrier, if it is complete
};

// Runs from an entry. Returns the pc where the interpreter continues, or nullptr where the warp
// leaves. `ip` then belongs to Block::at_work, as later warps of the block may have run too.
//
// With a null pc, where the kernel allows it (native/sweep.cpp): runs whole blocks whose rows of
// threads are full warps, from `index_of_block` along a row to `end_of_sweep`. It stops at the
// first block that cannot run so. It leaves that block's index in `index_of_block`, and the number
// of warps that it ran there in `swept_warps`. `w` is any warp of a block that has not begun.
using NativeRun = const Code* (*)(const Code* ip, Warp& w, std::byte* registers, const Services&);

// A kernel's entry in a library that was compiled ahead of time.
struct Ahead {
    char key[65];  // digest of the source that it was compiled from
    NativeRun run;
};

}  // namespace cupola::cpu::exec
