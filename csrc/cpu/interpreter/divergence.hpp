// csrc/cpu/interpreter/divergence.hpp - divergence: groups of a warp's lanes at different pcs.
//
// Inline, because branches of machine code use these functions too.
#pragma once

#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

[[gnu::always_inline]] inline void mask_lanes(Warp& w, std::uint32_t mask) {
    w.mask = mask;
    if (w.masked == mask) return;  // in most warps, `masked` never changes
    w.masked = mask;
    if (mask == all_lanes) {
        for (auto& each : w.lane_mask) each = -1;
        return;
    }
    for (unsigned i = 0; i < lanes; ++i) w.lane_mask[i] = -static_cast<std::int32_t>(mask >> i & 1);
}

// Avoids the call that popcount becomes where the instruction set may lack a popcount instruction.
[[gnu::always_inline]] inline std::uint32_t count_lanes(std::uint32_t mask) {
    return mask == all_lanes ? lanes : static_cast<std::uint32_t>(__builtin_popcount(mask));
}

// Sets the limit to the lowest pc of a ready group; to 0 while code order is ignored.
[[gnu::always_inline]] inline void update_reconvergence_pc(Warp& w) {
    const auto* const never = reinterpret_cast<const DecodedOp*>(~std::uintptr_t{0});
    w.limit = w.forced > 0 ? nullptr : w.ready_count > 0 ? w.ready[w.ready_count - 1].pc : never;
}

// Keeps the groups sorted, lowest pc last, and merges groups at one pc.
[[gnu::always_inline]] inline void enqueue_group(Warp& w, std::uint32_t mask, const DecodedOp* at) {
    unsigned n = w.ready_count;
    while (n > 0 && w.ready[n - 1].pc < at) --n;
    if (n > 0 && w.ready[n - 1].pc == at) {
        w.ready[n - 1].mask |= mask;
        return;
    }
    for (unsigned i = w.ready_count; i > n; --i) w.ready[i] = w.ready[i - 1];
    w.ready[n] = {mask, at};
    ++w.ready_count;
    update_reconvergence_pc(w);
}

// Splits the running lanes: the lower pc runs first, unless a ready group has a lower one.
[[gnu::always_inline]] inline const DecodedOp* diverge(
    Warp& w, std::uint32_t first_mask, const DecodedOp* first, const DecodedOp* second,
    const DecodedOp* (*arrive)(Warp& w, const DecodedOp* at)) {
    const std::uint32_t second_mask = w.mask & ~first_mask;
    const bool forward = first < second;
    enqueue_group(w, forward ? second_mask : first_mask, forward ? second : first);
    mask_lanes(w, forward ? first_mask : second_mask);
    const DecodedOp* const low = forward ? first : second;
    return __builtin_expect(low < w.limit, 1) ? low : arrive(w, low);
}

}  // namespace cupola::cpu::interpreter
