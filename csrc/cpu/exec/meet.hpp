// csrc/cpu/exec/meet.hpp - barriers of all threads of a block, as whole warps come to them: inline,
// as machine code does it where it is.
#pragma once

#include "cpu/exec/groups.hpp"

namespace cupola::cpu::exec {

// Whether the running lanes are all that the warp has.
[[gnu::always_inline]] inline bool is_whole(const Warp& w, std::uint32_t mask) {
    return mask == w.live && w.ready_count + w.waiting_count == 0;
}

// Lets those go on who wait at a barrier, if all have come.
using ReleaseIfComplete = bool (*)(Block& block, unsigned id);
bool release_if_complete_of(Block& block, unsigned id);  // barrier.cpp

// A whole warp comes to the barrier `at`: the last one goes straight on, the others have nothing
// else to do.
[[gnu::always_inline]] inline bool meet(Warp& w, const Code* at, unsigned id,
                                        ReleaseIfComplete release) {
    Block& block = *w.block;
    BarrierState& b = block.barriers[id];
    block.used_barriers |= 1u << id;
    block.awaited = true;
    b.come[w.index] |= w.mask;
    b.threads += count_lanes(w.mask);
    b.count = 0;
    w.forced = 0;
    if (b.threads >= block.live_threads && release(block, id)) return true;
    w.waiting[0] = {w.mask, at + 1, at, static_cast<std::int32_t>(id), 0};
    w.waiting_count = 1;
    w.status = Status::blocked;
    w.mask = 0;
    return false;
}

}  // namespace cupola::cpu::exec
