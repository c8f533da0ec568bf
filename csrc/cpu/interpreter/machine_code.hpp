// csrc/cpu/interpreter/machine_code.hpp - the interface between machine code and the interpreter.
//
// csrc/cpu/compiler makes machine code of a kernel's decoded code. Emitted code includes this file,
// so it holds plain data only.
//
// A warp's state is the same for both: a pc is a DecodedOp, and registers are in the register file
// whenever machine code returns. A warp is therefore interpreted where machine code has no entry,
// and returns to machine code at the next entry.
#pragma once

#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

// Functions and tables of the interpreter for machine code.
struct RuntimeCallbacks {
    const DecodedOp* code = nullptr;      // the pcs: one DecodedOp for each of the kernel's
    const Handler* handlers = nullptr;    // executes the instruction at a pc, returns the next pc
    const std::uint8_t* entry = nullptr;  // whether machine code may enter at a pc
    const DecodedOp* halt = nullptr;      // the pc of a warp that leaves
    const DecodedOp* (*arrive)(Warp& w, const DecodedOp* at) = nullptr;
    const DecodedOp* (*end_time_slice)(Warp& w, const DecodedOp* at) = nullptr;
    void (*set_mask)(Warp& w, std::uint32_t mask) = nullptr;
    // A barrier of the block, if it is complete.
    bool (*release)(Block& block, unsigned id) = nullptr;
};

// Runs from an entry. Returns the pc where the interpreter continues, or nullptr where the warp
// leaves. `ip` then belongs to Block::running_warp, as later warps of the block may have run too.
//
// With a null pc, where the kernel allows it (analysis/find_block_batches.cpp): runs whole blocks
// whose rows of threads are full warps, from `index_of_block` along a row to `batch_end`. It stops
// at the first block that cannot run so. It leaves that block's index in `index_of_block`, and the
// number of threads that it ran there in `batched_threads`. `w` is any warp of a block that has not
// begun.
using MachineCodeRun = const DecodedOp* (*)(const DecodedOp* ip, Warp& w, std::byte* registers,
                                            const RuntimeCallbacks&);

// A kernel's entry in a library that was compiled ahead of time.
struct AotKernel {
    char key[65];  // digest of the source from which the code was compiled
    MachineCodeRun run;
};

}  // namespace cupola::cpu::interpreter
