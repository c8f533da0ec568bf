// csrc/cpu/emitted/deferred_updates.hpp - integer atomics without a result that a worker makes
// later.
//
// A table of the worker combines the updates of its blocks by address. It is emptied after each
// chunk of blocks, and before an access may read other memory: see BlockState::resolve. So a cache
// line that many threads update moves between processors once for each chunk.
#pragma once

#include "cpu/emitted/atomics.hpp"

namespace cupola::cpu::CUPOLA_ISA {

using interpreter::DeferredUpdates;

// Slots of accesses that would see that an update is missing.
template <std::uint32_t... Slots>
struct Observers {
    static bool may_access(const Block& b, std::uint32_t slot) {
        return ((b.ranges[Slots].begin == b.ranges[slot].begin) || ...);
    }
};

template <class A>
void make_update(std::uint64_t address, std::uint64_t value) {
    using T = typename A::T;
    const T operand[] = {static_cast<T>(value)};
    // Addresses are of global memory, so the operation does not read the block.
    if constexpr (has_instruction<A::operation>)
        fetch_and<A::operation, T>(address, operand[0]);
    else
        update<false, T>(address, [&](T now) { return updated<A::operation>(now, operand[0]); });
}
template <class A>
void make_updates(DeferredUpdates& d) {
    for (unsigned n = 0; n < DeferredUpdates::entries; ++n) {
        if (d.address[n] != 0) make_update<A>(d.address[n], d.value[n]);
        d.address[n] = 0;
    }
}

// Whether updates at the slot's memory may be deferred. Shared memory ends with its block.
template <class Observing>
CUPOLA_INLINE bool can_defer(const Block& block, std::uint32_t slot) {
    return block.alone && block.deferred.credit >= 0 &&
           block.ranges[slot].begin - block.cluster >= block.cluster_bytes &&
           !Observing::may_access(block, slot);
}

template <class A, class Observing, class V, class B>
[[gnu::noinline]] bool defer_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                   const V* address, std::int64_t offset, B b) {
    using T = typename A::T;
    LaneAddresses addresses;
    if (!resolve_lanes<Window::flat>(w, mask, slot, address, offset, sizeof(T), true, addresses))
        return false;
    DeferredUpdates& d = w.block->deferred;
    if (__builtin_expect(!can_defer<Observing>(*w.block, slot), 0)) {
        combine_lanes(A{}, *w.block, mask, addresses, b);
        return true;
    }
    d.make = &make_updates<A>;
    std::int32_t replaced = 0;
    const auto defer = [&](unsigned i) {
        const std::uint64_t at = addresses.of[i];
        const auto n = static_cast<unsigned>(at / sizeof(T) % DeferredUpdates::entries);
        if (__builtin_expect(d.address[n] != at, 0)) {
            if (d.address[n] != 0) make_update<A>(d.address[n], d.value[n]), ++replaced;
            d.address[n] = at;
            d.value[n] = static_cast<std::uint64_t>(neutral<A::operation, T>());
        }
        d.value[n] = static_cast<std::uint64_t>(
            updated<A::operation>(static_cast<T>(d.value[n]), static_cast<T>(b[i])));
    };
    if (mask == all_lanes)
        for (unsigned i = 0; i < lanes; ++i) defer(i);
    else
        for (std::uint32_t m = mask; m != 0; m &= m - 1)
            defer(static_cast<unsigned>(__builtin_ctz(m)));
    constexpr std::int32_t credit_of_warp = 8;
    d.credit += credit_of_warp - replaced;
    if (d.credit > DeferredUpdates::full_credit) d.credit = DeferredUpdates::full_credit;
    return true;
}
template <class A, class Observing, class X, class B>
CUPOLA_INLINE bool deferred_atomic(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                   const X& address, std::int64_t offset, const B& operand) {
    using V = OperandWord<X>;
    alignas(64) V x[lanes];
    alignas(64) typename A::T b[lanes];
    const auto operands = elements_of<typename A::T>(operand, b);
    unpack(to_lanes<V>(address), x);
    return defer_lanes<A, Observing>(w, mask, slot, x, offset, operands);
}

}  // namespace cupola::cpu::CUPOLA_ISA
