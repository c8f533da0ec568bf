// csrc/cpu/interpreter/barrier.cpp - a block's barriers: arrival and release.
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/block_barrier.hpp"
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/divergence.hpp"

namespace cupola::cpu::interpreter {

bool release_if_complete_of(Block& block, unsigned id) {
    return static_cast<BlockState&>(block).release_if_complete(id);
}

const DecodedOp* BlockState::arrive_at(Warp& w, const DecodedOp* ip, std::uint32_t id,
                                       std::uint32_t count, bool waits, std::uint32_t yes) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(w.mask));
    if (id > 15 || count % lanes != 0) {
        fault(w, ip, Fault::Kind::illegal_instruction, lane,
              id > 15 ? "barrier number above 15" : "barrier count that is not a multiple of 32",
              id > 15 ? id : count);
        return stop_faulted(w);
    }
    BarrierState& b = barriers[id];
    used_barriers |= 1u << id;
    awaited = true;
    const bool plain = static_cast<BarrierKind>(ip->count) == BarrierKind::plain;
    if (waits && plain && count == 0 && !effects_are_seen_ && is_whole(w, w.mask))
        return arrive_whole_warp(w, ip, id, &release_if_complete_of) ? ip + 1 : &halt;
    notify([&](auto& each) { each.arrive(w, ip, id, count, b.come[w.index], b.threads); });
    b.come[w.index] |= w.mask;
    b.threads += count_lanes(w.mask);
    b.count = count;
    if (!plain) b.yes += count_lanes(yes & w.mask);
    if (waits) {
        w.waiting[w.waiting_count++] = {w.mask, ip + 1, ip, static_cast<std::int32_t>(id), 0};
        release_if_complete(id);
        return pick(w);
    }
    release_if_complete(id);
    return ip + 1;
}

bool BlockState::release_if_complete(unsigned id) {
    if (!complete(id)) return false;
    release(id);
    return true;
}

// Barriers count whole warps: lanes that have exited count as arrived once the others arrive.
bool BlockState::complete(unsigned id) const {
    const BarrierState& b = barriers[id];
    // `threads` includes each live thread that arrived, and threads that exited after they arrived.
    if (b.threads == 0 || (b.count == 0 && b.threads < live_threads)) return false;
    if (b.count == 0 && live_threads == threads_) return true;  // no thread has exited
    std::uint32_t come = 0;
    for (unsigned n = 0; n < warp_count; ++n) {
        const std::uint32_t live = warps_.get()[n].live;
        const bool whole = (live & ~b.come[n]) == 0;
        if (b.count == 0) {
            if (!whole) return false;
        } else if (b.come[n] != 0) {
            come += whole ? lanes : static_cast<std::uint32_t>(__builtin_popcount(b.come[n]));
        }
    }
    return b.count == 0 || come >= b.count;
}

void BlockState::release(unsigned id) {
    notify([&](auto& each) { each.complete(id, barriers[id].count); });
    wake(static_cast<std::int32_t>(id));
    barriers[id] = BarrierState{};
    used_barriers &= ~(1u << id);
    awaited = used_barriers != 0 || cluster_.uses_barrier();
}

void BlockState::wake(std::int32_t barrier) {
    if (barrier == cluster_barrier) notify([](auto& each) { each.cluster_complete(); });
    const auto is_plain = [](const Waiting& waiting) {
        return static_cast<BarrierKind>(waiting.code->count) == BarrierKind::plain;
    };
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = warps_.get()[n];
        // The usual case, a whole warp that waits: it resumes as a yielded warp does.
        const bool whole = w.status == Status::blocked && w.waiting_count == 1 &&
                           w.ready_count == 0 && w.waiting[0].barrier == barrier;
        if (whole) {
            if (effects_are_seen_ || !is_plain(w.waiting[0])) pass(w, w.waiting[0], barrier);
            w.resume = {w.waiting[0].mask, w.waiting[0].pc};
            w.forced = 0;
            w.waiting_count = 0;
            w.status = Status::yielded;
            continue;
        }
        unsigned kept = 0;
        for (unsigned k = 0; k < w.waiting_count; ++k) {
            const Waiting waiting = w.waiting[k];
            if (waiting.barrier != barrier) {
                w.waiting[kept++] = waiting;
                continue;
            }
            pass(w, waiting, barrier);
            make_ready(w, waiting.mask, waiting.pc);
            if (w.status == Status::blocked) w.status = Status::ready;
        }
        w.waiting_count = kept;
    }
}

// Gives the result of the barrier to the lanes that the barrier releases.
void BlockState::pass(Warp& w, const Waiting& waiting, std::int32_t barrier) {
    if (barrier == cluster_barrier) {
        notify([&](auto& each) { each.cluster_passed(w, waiting.mask); });
        return;
    }
    if (barrier == free_columns) return;
    const BarrierState& b = barriers[barrier];
    if (static_cast<BarrierKind>(waiting.code->count) != BarrierKind::plain)
        write_barrier_result(w, waiting, b.yes, b.threads);
    notify([&](auto& each) { each.pass(w, waiting.mask, barrier); });
}

const DecodedOp* BlockState::exit_lanes(Warp& w) {
    notify([&](auto& each) { each.exited(w); });
    w.live &= ~w.mask;
    live_threads -= count_lanes(w.mask);
    if (w.live == 0) --live_warps;
    cluster_.exited();
    for (std::uint32_t used = used_barriers; used != 0; used &= used - 1)
        release_if_complete(static_cast<unsigned>(__builtin_ctz(used)));
    return pick(w);
}

}  // namespace cupola::cpu::interpreter
