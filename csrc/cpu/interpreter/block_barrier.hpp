// csrc/cpu/interpreter/block_barrier.hpp - the block barrier for a whole warp.
//
// Inline, because machine code uses it too.
#pragma once

#include "cpu/interpreter/divergence.hpp"

namespace cupola::cpu::interpreter {

// Whether `mask` holds all live lanes of the warp, and no other group exists.
[[gnu::always_inline]] inline bool is_whole(const Warp& w, std::uint32_t mask) {
    return mask == w.live && w.ready_count + w.waiting_count == 0;
}

// Releases the warps that wait at a barrier if it is complete.
using ReleaseIfComplete = bool (*)(Block& block, unsigned id);
bool release_if_complete_of(Block& block, unsigned id);  // barrier.cpp

// A whole warp waits at the barrier `at`.
[[gnu::always_inline]] inline void wait_whole_warp(Warp& w, const DecodedOp* at, unsigned id) {
    Block& block = *w.block;
    BarrierState& b = block.barriers[id];
    block.used_barriers |= 1u << id;
    block.awaited = true;
    b.come[w.index] |= w.live;
    b.threads += count_lanes(w.live);
    b.count = 0;
    w.forced = 0;
    w.waiting[0] = {w.live, at + 1, at, static_cast<std::int32_t>(id), 0};
    w.waiting_count = 1;
    w.status = Status::blocked;
    w.mask = 0;
}

// A whole warp arrives at the barrier `at`. True: it is the block's only warp and continues. Else
// it waits, also where it completes the barrier: then all warps are ready, and run in index order.
[[gnu::always_inline]] inline bool arrive_whole_warp(Warp& w, const DecodedOp* at, unsigned id,
                                                     ReleaseIfComplete release) {
    Block& block = *w.block;
    if (block.live_warps == 1 && (block.used_barriers >> id & 1) == 0) return true;
    wait_whole_warp(w, at, id);
    if (block.barriers[id].threads >= block.live_threads) release(block, id);
    return false;
}

}  // namespace cupola::cpu::interpreter
