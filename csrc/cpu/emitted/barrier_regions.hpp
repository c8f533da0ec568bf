// csrc/cpu/emitted/barrier_regions.hpp - runs the warps of a block region by region.
//
// A region is the code between two barriers. While all warps end it at the same barrier, they run
// one after another, and none of them waits. The barrier's state is written only if they differ.
#pragma once

#include "cpu/emitted/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct BarrierRegions {
    static constexpr std::uint32_t at_exit = ~std::uint32_t{0};

    bool active = false;
    std::uint32_t id = 0;     // number of the barrier
    std::uint32_t start = 0;  // operation where the warps begin the region
    // The barrier at which earlier warps of the block ended their region, or `at_exit`.
    std::uint32_t end = 0;

    // Whether all warps of the block begin a region at `at`. `w` runs already.
    void begin(const Warp& w, std::uint32_t at, const RuntimeCallbacks& s) {
        const Block& b = *w.block;
        active = false;
        if (w.index != 0 || !b.alone || b.warp_count == 1 || b.used_barriers != 0) return;
        if (!is_whole(w, w.mask)) return;
        for (const Warp *each = &w + 1, *last = &w + b.warp_count; each != last; ++each)
            if (each->status != Status::yielded || each->resume.pc != s.code + at ||
                each->resume.mask != each->live || each->wake != 0 ||
                each->ready_count + each->waiting_count != 0)
                return;
        active = true;
        start = at;
    }

    // A whole warp arrives at the barrier `at`. False: it leaves the function.
    CUPOLA_INLINE bool arrive(Warp& w, std::uint32_t at, std::uint32_t barrier,
                              const RuntimeCallbacks& s) {
        if (active) {
            if (ends(w, at)) {
                id = barrier;
                return false;
            }
            leave(w, s);
        }
        return arrive_whole_warp(w, s.code + at, barrier, s.release);
    }
    CUPOLA_INLINE bool exit(Warp& w, std::uint32_t mask, const RuntimeCallbacks& s) {
        if (active && is_whole(w, mask) && !ends(w, at_exit)) leave(w, s);
        return exit_whole_warp(w, mask);
    }

    // The next warp that can run; nullptr: none. `w` has ended its region, or waits for others.
    CUPOLA_INLINE Warp* next_warp(Warp* w, const RuntimeCallbacks& s, std::uint32_t& target) {
        if (active) {
            const bool done = w->status == Status::done;
            if (done ? ends(*w, at_exit) : w->status == Status::ready)
                return next_in_region(w, target);
            leave(*w, s);
        }
        w = next_ready_warp(w, s, target);
        if (w) begin(*w, target, s);
        return w;
    }

    // Called when the warps no longer run by regions. Writes the position of each warp.
    [[gnu::noinline, gnu::cold]] void leave(Warp& w, const RuntimeCallbacks& s) {
        Block& b = *w.block;
        active = false;
        for (Warp *each = &w - w.index, *last = each + b.warp_count; each != last; ++each) {
            if (each > &w) {
                each->resume = {each->live, s.code + start};
                each->status = Status::yielded;
            } else if (each < &w && end != at_exit) {
                wait_whole_warp(*each, s.code + end, id);
            }
        }
        if (b.used_barriers != 0 && b.barriers[id].threads >= b.live_threads) s.release(b, id);
    }

  private:
    // Whether a warp ends the region at the barrier where the earlier warps ended it.
    CUPOLA_INLINE bool ends(const Warp& w, std::uint32_t at) {
        if (w.index != 0 && end != at) return false;
        end = at;
        return true;
    }
    CUPOLA_INLINE Warp* next_in_region(Warp* w, std::uint32_t& target) {
        if (w->index + 1u < w->block->warp_count) {
            ++w;
        } else {
            w -= w->index;
            if (end == at_exit) return nullptr;
            start = end + 1;
        }
        target = start;
        mask_lanes(*w, w->live);
        w->forced = 0;
        update_reconvergence_pc(*w);
        w->status = Status::ready;
        w->block->running_warp = w;
        return w;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
