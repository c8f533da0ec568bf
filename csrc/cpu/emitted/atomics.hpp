// csrc/cpu/emitted/atomics.hpp - atomics and shuffles of emitted code.
#pragma once

#include "cpu/emitted/access.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The elements of an operand: an array in `buffer`, or one value for all lanes.
template <class T>
struct Broadcast {
    T value;
    T operator[](unsigned) const { return value; }
};
template <class T>
CUPOLA_INLINE const T* elements_of(const Lanes<sizeof(T)>& v, T* buffer) {
    unpack(v, buffer);
    return buffer;
}
template <class T, class V>
CUPOLA_INLINE Broadcast<T> elements_of(Uniform<V> o, T*) {
    return {bit_cast<T>(o.value)};
}

// A is an instance of AtomicAs.
template <class A, Window W, class V, class B, class C>
[[gnu::noinline]] bool atomic_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                    const V* address, std::int64_t offset, B b, C c,
                                    typename A::T* d) {
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, sizeof(typename A::T), true, addresses))
        return false;
    if constexpr (W == Window::flat) {
        std::uint64_t any = 0;
        for (const std::uint64_t each : addresses.of) any |= each ^ addresses.of[0];
        if (any == 0) {
            A::all(*w.block, mask, addresses.of[0], b, c, d);
            return true;
        }
    }
    A::in_turn(
        *w.block, mask, [&](unsigned i) { return addresses.of[i]; }, b, c, d);
    return true;
}
template <class A, Window W, class X, class B, class C>
CUPOLA_INLINE bool atomic(const Warp& w, std::uint32_t mask, std::uint32_t slot, const X& address,
                          std::int64_t offset, const B& first, const C& second,
                          Lanes<sizeof(typename A::T)>& made) {
    using T = typename A::T;
    using V = OperandWord<X>;
    alignas(64) V x[lanes];
    alignas(64) T b[lanes], c[lanes], d[lanes];
    const auto left = elements_of<T>(first, b);
    const auto right = elements_of<T>(second, c);
    if constexpr (A::returns) unpack(made, d);
    if (W == Window::shared && mask == all_lanes &&
        check_shared(*w.block, mask, to_lanes<V>(address), offset, sizeof(T), x)) {
        for_each_word(x, [&, shared = w.block->shared](unsigned i, std::uint64_t at) {
            A::one(*w.block, shared + at, i, left, right, d);
        });
    } else {
        unpack(to_lanes<V>(address), x);
        if (!atomic_lanes<A, W>(w, mask, slot, x, offset, left, right, d)) return false;
    }
    if constexpr (A::returns) pack(d, made);
    return true;
}

// ---- shuffles -----------------------------------------------------------------------------

CUPOLA_INLINE void unpack_words(const Lanes<4>& from, std::uint32_t* to) { unpack(from, to); }
CUPOLA_INLINE void unpack_words(Uniform<std::uint32_t> from, std::uint32_t* to) {
    for (unsigned i = 0; i < lanes; ++i) to[i] = from.value;
}

// Whether a whole warp may run an operation at once: all lanes are members, or each is one of its
// own group, such as a tile of a block.
CUPOLA_INLINE bool are_members(Uniform<std::uint32_t> members) {
    return members.value == all_lanes;
}
CUPOLA_INLINE bool are_members(const Lanes<4>& members) {
    alignas(64) std::uint32_t x[lanes];
    unpack(members, x);
    std::uint32_t absent = 0;
    for (unsigned i = 0; i < lanes; ++i) absent |= ~x[i] & lane_bits.of[i];
    return absent == 0;
}

// Shuffles a whole warp. Returns the lanes whose source is in their segment.
template <ptx::Mode M, class A, class B, class C>
CUPOLA_INLINE std::uint32_t shuffle(Lanes<4>& to, A a, B b, C c) {
    alignas(64) std::uint32_t values[lanes], shifts[lanes], segments[lanes], made[lanes];
    unpack_words(a, values);
    unpack_words(b, shifts);
    unpack_words(c, segments);
    std::uint32_t valid = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const ShuffleSource source = shuffle_source<M>(i, shifts[i], segments[i]);
        made[i] = values[source.lane];
        valid |= std::uint32_t{source.valid} << i;
    }
    pack(made, to);
    return valid;
}

}  // namespace cupola::cpu::CUPOLA_ISA
