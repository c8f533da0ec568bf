// csrc/cpu/interpreter/lane_schedule.cpp - selects the lanes of a warp that run next.
//
// The code is in reverse post order. The lanes at the lowest pc run first, so the others wait for
// them at the reconvergence point. Lanes may also wait for each other's stores (a lock), so time
// slices are bounded. After one ends, other lanes run for a while whatever their pc, and then other
// warps.
#include "cpu/base/seeded_order.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/divergence.hpp"

namespace cupola::cpu::interpreter {

namespace {

constexpr std::int32_t forced_length = 256;  // the number of branches, of any kind

const DecodedOp* pop_ready_group(Warp& w, unsigned n) {
    const Group group = w.ready[n];
    for (unsigned i = n; i + 1 < w.ready_count; ++i) w.ready[i] = w.ready[i + 1];
    --w.ready_count;
    set_mask(w, group.mask);
    update_reconvergence_pc(w);
    return group.pc;
}

const DecodedOp* leave(Warp& w, Status status) {
    w.status = status;
    w.mask = 0;
    return &halt;
}

// Releases lanes that wait for other lanes of their warp, if all of those have arrived or exited,
// or by force.
bool release_gathered(Warp& w, bool force) {
    for (unsigned n = 0; n < w.waiting_count; ++n) {
        const Waiting& a = w.waiting[n];
        if (a.barrier >= 0) continue;
        const bool warp_barrier = a.pc != a.code;
        std::uint32_t come = 0;
        for (unsigned k = 0; k < w.waiting_count; ++k) {
            const Waiting& b = w.waiting[k];
            if (b.barrier < 0 && (warp_barrier ? b.pc != b.code : b.code == a.code)) come |= b.mask;
        }
        if (!force && (a.want & w.live & ~come) != 0) continue;
        if (force) {
            w.lenient = true;
            block_of(w).notify([&](auto& each) { each.forced(w, a); });
        } else if (warp_barrier) {
            block_of(w).notify([&](auto& each) { each.let_go(w, a, come); });
        }
        const DecodedOp* code = a.code;
        const std::uint32_t released = force ? a.mask : come;
        unsigned kept = 0;
        for (unsigned k = 0; k < w.waiting_count; ++k) {
            const Waiting b = w.waiting[k];
            const bool mine = b.barrier < 0 && (b.mask & released) != 0 &&
                              (warp_barrier ? b.pc != b.code : b.code == code);
            if (mine)
                make_ready(w, b.mask, b.pc);
            else
                w.waiting[kept++] = b;
        }
        w.waiting_count = kept;
        return true;
    }
    return false;
}

}  // namespace

void set_mask(Warp& w, std::uint32_t mask) { mask_lanes(w, mask); }

void make_ready(Warp& w, std::uint32_t mask, const DecodedOp* at) { enqueue_group(w, mask, at); }

const DecodedOp* pick(Warp& w) {
    w.forced = 0;
    if (w.ready_count == 0 && w.waiting_count > 0) release_gathered(w, false);
    if (w.ready_count > 0) return pop_ready_group(w, w.ready_count - 1);
    return leave(w, w.live == 0 ? Status::done : Status::blocked);
}

const DecodedOp* run_group(Warp& w, const DecodedOp* at, std::uint32_t wanted) {
    unsigned n = w.ready_count;
    while (n > 0 && (w.ready[n - 1].mask & wanted) == 0) --n;
    if (n == 0) return nullptr;
    const std::uint32_t mask = w.mask;
    const DecodedOp* const to = pop_ready_group(w, n - 1);
    make_ready(w, mask, at);
    return to;
}

bool force_ready(Warp& w) {
    if (!release_gathered(w, true)) return false;
    w.status = Status::ready;
    return true;
}

const DecodedOp* arrive(Warp& w, const DecodedOp* at) {
    for (unsigned n = 0; n < w.ready_count; ++n)
        if (w.ready[n].pc == at) {
            const std::uint32_t mask = w.mask;
            pop_ready_group(w, n);
            set_mask(w, mask | w.mask);
            break;
        }
    if (w.forced > 0) {
        if (--w.forced > 0) return at;
        update_reconvergence_pc(w);
    }
    if (at < w.limit) return at;
    make_ready(w, w.mask, at);
    return pop_ready_group(w, w.ready_count - 1);
}

const DecodedOp* end_time_slice(Warp& w, const DecodedOp* at) {
    auto& block = static_cast<BlockState&>(*w.block);
    w.budget = block.turn_length();
    if (block.launch().tick) block.launch().tick();
    if (block.stopped()) {
        block.fault(w, at, Fault::Kind::stopped, static_cast<unsigned>(__builtin_ctz(w.mask)),
                    "the launch was stopped", 0);
        return stop_faulted(w);
    }
    if (w.ready_count == 0 && !block.others_live(w)) return at;
    make_ready(w, w.mask, at);
    const unsigned n = w.turn++ % w.ready_count;
    if (w.ready_count > 1) w.forced = forced_length;
    const DecodedOp* to = pop_ready_group(w, n);
    if (!block.others_live(w)) return to;
    // The next lanes run in this warp's next time slice.
    w.resume = {w.mask, to};
    return leave(w, Status::yielded);
}

const DecodedOp* doze(Warp& w, const DecodedOp* at, std::uint32_t nanoseconds) {
    auto& block = static_cast<BlockState&>(*w.block);
    w.budget = block.turn_length();
    if (block.stopped()) return end_time_slice(w, at);
    w.wake = steady_nanoseconds() + nanoseconds;
    // Other lanes of the warp run first when the warp wakes up: the sleeping lanes may wait for
    // these lanes.
    if (w.ready_count > 0) {
        make_ready(w, w.mask, at);
        at = pop_ready_group(w, w.turn++ % w.ready_count);
        if (w.ready_count > 0) w.forced = forced_length;
    }
    w.resume = {w.mask, at};
    return leave(w, Status::yielded);
}

const DecodedOp* split(Warp& w, std::uint32_t first_mask, const DecodedOp* first,
                       const DecodedOp* second) {
    return diverge(w, first_mask, first, second, &arrive);
}

const DecodedOp* wait_for_lanes(Warp& w, std::uint32_t want, const DecodedOp* code,
                                const DecodedOp* then) {
    w.waiting[w.waiting_count++] = {w.mask, then, code, -1, want};
    return pick(w);
}

const DecodedOp* interrupt(Warp& w, const DecodedOp* at) {
    constexpr std::uint32_t longest = 64;  // instructions for which code order is ignored
    SeededOrder& order = *block_of(w).launch().order;
    const std::uint32_t part = order.some_of(w.mask);
    const bool splits =
        part != w.mask && (w.ready_count == 0 ? order.below(4) != 0 : order.below(3) == 0);
    if (splits) {
        make_ready(w, w.mask & ~part, at);
        set_mask(w, part);
    } else if (w.ready_count > 0) {
        make_ready(w, w.mask, at);
        at = pop_ready_group(w, order.below(w.ready_count));
    }
    if (w.ready_count > 0) {
        w.forced = static_cast<std::int32_t>(1 + order.below(longest));
        update_reconvergence_pc(w);
    }
    // After a split the lanes continue: if they stopped here, they would join the other lanes
    // again.
    if (splits) return at;
    w.resume = {w.mask, at};
    return leave(w, Status::yielded);
}

const DecodedOp* stop_faulted(Warp& w) { return leave(w, Status::faulted); }

}  // namespace cupola::cpu::interpreter
