// csrc/cpu/emitted/access.hpp - loads and stores of printed code: where an address has a line, one
// check and a vector's or a scalar's access; else lane by lane. What may not be followed is left to
// the instruction's handler, faults too.
#pragma once

#include "cpu/emitted/access_check.hpp"
#include "cpu/emitted/vectors.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Registers are written vector by vector where that is possible: arrays of lanes are what compilers
// take longest for.
template <class T>
CUPOLA_INLINE void set_same(T value, std::uint32_t mask, Lanes<sizeof(T)>& v) {
    constexpr unsigned E = sizeof(T);
    using Words = VectorOfLanes<Bytes<E>, E>;
    const Words made = Words{} + bit_cast<Bytes<E>>(value);
    if (mask == all_lanes) {
        for (auto& each : v.v) each = typename Lanes<E>::Vector(made);
        return;
    }
    alignas(64) Bytes<E> all[lanes], old[lanes], now[lanes];
    for (auto& each : all) each = bit_cast<Bytes<E>>(value);
    spread(v, old);
    select(mask, all, old, now);
    pack(now, v);
}

// Along a line, elements of the halves of a warp. Where a vector is a half, or a part of one.
template <unsigned E>
inline constexpr bool halves_are_vectors = Lanes<E>::count >= 2;
template <unsigned E>
CUPOLA_INLINE std::uint64_t place_of_vector(unsigned k, std::uint64_t low, std::uint64_t high) {
    constexpr unsigned some = Lanes<E>::count / 2;
    return k < some ? low + k * Lanes<E>::size : high + (k - some) * Lanes<E>::size;
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void take_element(const T* memory, Lanes<sizeof(T)>& v) {
    alignas(64) T made[lanes];
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) made[i] = memory[i * Count + K];
    pack(made, v);
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void put_element(const Lanes<sizeof(T)>& v, T* memory) {
    alignas(64) T x[lanes];
    spread(v, x);
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) memory[i * Count + K] = x[i];
}
template <class T, unsigned K>
CUPOLA_INLINE void take_halves(std::uint64_t low, std::uint64_t high, Lanes<sizeof(T)>& v) {
    const T a = fetch<T>(low + K * sizeof(T)), b = fetch<T>(high + K * sizeof(T));
    alignas(64) T made[lanes];
    for (unsigned i = 0; i < lanes; ++i) made[i] = i < half ? a : b;
    pack(made, v);
}

// ---- lane by lane -------------------------------------------------------------------------
// Compiled once for all places; `memory` has Count elements of each lane.

// Where the active lanes' elements lie, from one address on; for inactive lanes, where some lane's
// may be.
struct Places {
    std::uint64_t from;
    alignas(64) std::uint32_t of[lanes];
    template <class T>
    T* at(unsigned lane, unsigned k = 0) const {
        return reinterpret_cast<T*>(from + of[lane]) + k;
    }
};
// Uniform(i, lane i's), of words of 4 or 8 bytes, 8 bytes at a time: fetches are what there is most
// of.
template <class V, class Uniform>
CUPOLA_INLINE void for_each_word(const V* words, Uniform one) {
    for (unsigned i = 0; i < lanes; i += 8 / sizeof(V)) {
        std::uint64_t some;
        __builtin_memcpy(&some, words + i, sizeof some);
        one(i, static_cast<V>(some));
        if constexpr (sizeof(V) == 4) one(i + 1, some >> 32);
    }
}
// Whether all lanes may access as much from their places in shared memory on; those. It begins at
// nought, so there is no least address to look for.
template <unsigned E>
CUPOLA_INLINE bool all_in_shared(const Block& block, const Lanes<E>& address, std::int64_t offset,
                                 unsigned bytes, Bytes<E>* places) {
    using V = VectorOfLanes<Bytes<E>, E>;
    if (block.shared_bytes < bytes) return false;
    const V last = V{} + static_cast<Bytes<E>>(block.shared_bytes - bytes);
    V off = {};
    for (unsigned k = 0; k < Lanes<E>::count; ++k) {
        const V here = V(address.v[k]) + static_cast<Bytes<E>>(offset);
        off |= V(here > last) | (here & Bytes<E>{bytes - 1});
        __builtin_memcpy(places + k * sizeof(V) / E, &here, sizeof here);
    }
    return is_zero(off);
}
template <class V>
CUPOLA_INLINE bool reach_shared(const Block& block, std::uint32_t mask, const V* address,
                                unsigned bytes, Places& places) {
    alignas(64) V nought[lanes] = {}, here[lanes];
    select(mask, address, nought, here);
    Lanes<sizeof(V)> all;
    pack(here, all);
    if (!all_in_shared(block, all, 0, bytes, here)) return false;
    places.from = block.shared;
    for (unsigned i = 0; i < lanes; ++i) places.of[i] = static_cast<std::uint32_t>(here[i]);
    return true;
}
template <Window W, class V>
CUPOLA_INLINE bool reach_each(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                              const V* address, std::int64_t offset, unsigned bytes, bool write,
                              Places& places) {
    alignas(64) V x[lanes], here[lanes], first[lanes];
    for (unsigned i = 0; i < lanes; ++i) x[i] = static_cast<V>(address[i] + static_cast<V>(offset));
    if constexpr (W == Window::shared) return reach_shared(*w.block, mask, x, bytes, places);
    const V base = x[__builtin_ctz(mask)];
    for (auto& each : first) each = base;
    select(mask, x, first, here);
    V low = base, high = base, all = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        low = here[i] < low ? here[i] : low;
        high = here[i] > high ? here[i] : high;
        all |= here[i];
    }
    if (all % bytes != 0 || high - low >= std::uint64_t{1} << 32 ||
        !reach<W>(w, slot, low, std::uint64_t{high - low} + bytes, write, places.from))
        return false;
    for (unsigned i = 0; i < lanes; ++i) places.of[i] = static_cast<std::uint32_t>(here[i] - low);
    return true;
}

template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool load_each(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                 const V* address, std::int64_t offset, T* memory) {
    Places places;
    if (!reach_each<W>(w, mask, slot, address, offset, Count * sizeof(T), false, places))
        return false;
    for (unsigned k = 0; k < Count; ++k) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) memory[i * Count + k] = *places.at<const T>(i, k);
    }
    return true;
}
template <class T, class V>
CUPOLA_INLINE bool store_all_in_shared(const Block& block, const V* address, std::int64_t offset,
                                       const T* memory) {
    Lanes<sizeof(V)> all;
    pack(address, all);
    alignas(64) V here[lanes];
    if (!all_in_shared(block, all, offset, sizeof(T), here)) return false;
    for_each_word(here, [shared = block.shared, memory](unsigned i, std::uint64_t place) {
        *reinterpret_cast<T*>(shared + place) = memory[i];
    });
    return true;
}
template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool store_each(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                  const V* address, std::int64_t offset, const T* memory) {
    if constexpr (W == Window::shared && Count == 1)
        if (mask == all_lanes) return store_all_in_shared(*w.block, address, offset, memory);
    Places places;
    if (!reach_each<W>(w, mask, slot, address, offset, Count * sizeof(T), true, places))
        return false;
    const auto one = [&](unsigned i) {
        for (unsigned k = 0; k < Count; ++k) *places.at<T>(i, k) = memory[i * Count + k];
    };
    if (mask == all_lanes) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) one(i);
        return true;
    }
    for (std::uint32_t m = mask; m != 0; m &= m - 1) one(static_cast<unsigned>(__builtin_ctz(m)));
    return true;
}

// ---- loads --------------------------------------------------------------------------------

template <class T>
CUPOLA_INLINE void take_some(const Lanes<sizeof(T)>& made, std::uint32_t mask,
                             Lanes<sizeof(T)>& v) {
    alignas(64) T x[lanes], old[lanes], now[lanes];
    spread(made, x);
    spread(v, old);
    select(mask, x, old, now);
    pack(now, v);
}

template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void take_masked(const T* memory, std::uint32_t mask, Lanes<sizeof(T)>& v) {
    Lanes<sizeof(T)> made;
    take_element<T, Count, K>(memory, made);
    take_some<T>(made, mask, v);
}

template <class T, Window W, std::size_t... K, class A, class... D>
CUPOLA_INLINE bool load_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                           std::uint32_t slot, const A& address, std::int64_t offset, D&... to) {
    constexpr unsigned count = sizeof...(D);
    alignas(64) T memory[lanes * count];
    alignas(64) OperandWord<A> x[lanes];
    spread(address, x);
    if (!load_each<T, W, count>(w, mask, slot, x, offset, memory)) return false;
    (take_masked<T, count, K>(memory, mask, to), ...);
    return true;
}
template <class T, Window W, std::size_t... K, class V, class... D>
CUPOLA_INLINE bool load_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                           std::uint32_t slot, Uniform<V> address, std::int64_t offset, D&... to) {
    constexpr unsigned bytes = sizeof...(D) * sizeof(T);
    const std::uint64_t from =
        static_cast<V>(address.value + static_cast<V>(static_cast<std::uint64_t>(offset)));
    std::uint64_t host;
    if (from % bytes != 0 || !reach<W>(w, slot, from, bytes, false, host)) return false;
    (set_same<T>(fetch<T>(host + K * sizeof(T)), mask, to), ...);
    return true;
}

// False: nothing is done, and the handler has to.
template <class T, Window W, class A, class... D>
CUPOLA_INLINE bool load(const Warp& w, std::uint32_t mask, std::uint32_t slot, const A& address,
                        std::int64_t offset, D&... to) {
    return load_as<T, W>(std::index_sequence_for<D...>(), w, mask, slot, address, offset, to...);
}

// All lanes, along a line that has been checked.
template <class T, std::int64_t S, std::size_t... K, class... D>
CUPOLA_INLINE void load_along(std::index_sequence<K...>, Near near, std::int64_t offset, D&... to) {
    constexpr unsigned count = sizeof...(D);
    const std::uint64_t low = near.low + static_cast<std::uint64_t>(offset),
                        high = near.high + static_cast<std::uint64_t>(offset);
    if constexpr (S == 0) {
        (take_halves<T, K>(low, high, to), ...);
    } else if constexpr (count == 1 && halves_are_vectors<sizeof(T)>) {
        constexpr unsigned E = sizeof(T);
        for (unsigned k = 0; k < Lanes<E>::count; ++k)
            (__builtin_memcpy(&to.v[k],
                              reinterpret_cast<const void*>(place_of_vector<E>(k, low, high)),
                              Lanes<E>::size),
             ...);
    } else {
        alignas(64) T memory[lanes * count];
        __builtin_memcpy(memory, reinterpret_cast<const void*>(low), sizeof memory / 2);
        __builtin_memcpy(memory + half * count, reinterpret_cast<const void*>(high),
                         sizeof memory / 2);
        (take_element<T, count, K>(memory, to), ...);
    }
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_near(Near near, std::int64_t offset, D&... to) {
    load_along<T, S>(std::index_sequence_for<D...>(), near, offset, to...);
}
// Some lanes, along a line that holds for all.
template <class T, std::int64_t S, std::size_t... K, class... D>
CUPOLA_INLINE void load_some_along(std::index_sequence<K...> each, Near near, std::int64_t offset,
                                   std::uint32_t mask, D&... to) {
    Lanes<sizeof(T)> made[sizeof...(D)];
    load_along<T, S>(each, near, offset, made[K]...);
    (take_some<T>(made[K], mask, to), ...);
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_some(Near near, std::int64_t offset, std::uint32_t mask, D&... to) {
    load_some_along<T, S>(std::index_sequence_for<D...>(), near, offset, mask, to...);
}
template <class T, std::size_t... K, class... D>
CUPOLA_INLINE void load_one(std::index_sequence<K...>, std::uint64_t from, D&... to) {
    (set_same<T>(fetch<T>(from + K * sizeof(T)), all_lanes, to), ...);
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_same(Near near, std::int64_t offset, D&... to) {
    load_one<T>(std::index_sequence_for<D...>(), near.low + static_cast<std::uint64_t>(offset),
                to...);
}

// ---- stores -------------------------------------------------------------------------------

template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> all_of(T value) {
    Lanes<sizeof(T)> v;
    set_same(value, all_lanes, v);
    return v;
}
template <class T>
CUPOLA_INLINE const Lanes<sizeof(T)>& lanes_of(const Lanes<sizeof(T)>& v) {
    return v;
}
template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> lanes_of(Uniform<T> o) {
    return all_of(o.value);
}

template <class T, Window W, std::size_t... K, class A, class... S>
CUPOLA_INLINE bool store_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                            std::uint32_t slot, const A& address, std::int64_t offset,
                            const S&... from) {
    constexpr unsigned count = sizeof...(S);
    alignas(64) T memory[lanes * count];
    (put_element<T, count, K>(lanes_of<T>(from), memory), ...);
    alignas(64) OperandWord<A> x[lanes];
    spread(lanes_of<OperandWord<A>>(address), x);
    return store_each<T, W, count>(w, mask, slot, x, offset, memory);
}
template <class T, Window W, class A, class... S>
CUPOLA_INLINE bool store(const Warp& w, std::uint32_t mask, std::uint32_t slot, const A& address,
                         std::int64_t offset, const S&... from) {
    return store_as<T, W>(std::index_sequence_for<S...>(), w, mask, slot, address, offset, from...);
}

template <class T, std::size_t... K, class... V>
CUPOLA_INLINE void store_along(std::index_sequence<K...>, Near near, std::int64_t offset,
                               const V&... from) {
    constexpr unsigned count = sizeof...(V), E = sizeof(T);
    const std::uint64_t low = near.low + static_cast<std::uint64_t>(offset),
                        high = near.high + static_cast<std::uint64_t>(offset);
    if constexpr (count == 1 && halves_are_vectors<E>) {
        const Lanes<E> v = (lanes_of<T>(from), ...);
        for (unsigned k = 0; k < Lanes<E>::count; ++k)
            __builtin_memcpy(reinterpret_cast<void*>(place_of_vector<E>(k, low, high)), &v.v[k],
                             Lanes<E>::size);
    } else {
        alignas(64) T memory[lanes * count];
        (put_element<T, count, K>(lanes_of<T>(from), memory), ...);
        __builtin_memcpy(reinterpret_cast<void*>(low), memory, sizeof memory / 2);
        __builtin_memcpy(reinterpret_cast<void*>(high), memory + half * count, sizeof memory / 2);
    }
}
template <class T, std::int64_t S, class... V>
CUPOLA_INLINE void store_near(Near near, std::int64_t offset, const V&... from) {
    store_along<T>(std::index_sequence_for<V...>(), near, offset, from...);
}

template <class T, std::size_t... K, class... V>
CUPOLA_INLINE void store_some_along(std::index_sequence<K...>, Near near, std::int64_t offset,
                                    std::uint32_t mask, const V&... from) {
    constexpr unsigned count = sizeof...(V), bytes = count * sizeof(T);
    alignas(64) T memory[lanes * count];
    (put_element<T, count, K>(lanes_of<T>(from), memory), ...);
    for (; mask != 0; mask &= mask - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(mask));
        const std::uint64_t begin = i < half ? near.low : near.high;
        const std::uint64_t to = begin + static_cast<std::uint64_t>(offset) + i % half * bytes;
        __builtin_memcpy(reinterpret_cast<void*>(to), memory + i * count, bytes);
    }
}
template <class T, std::int64_t S, class... V>
CUPOLA_INLINE void store_some(Near near, std::int64_t offset, std::uint32_t mask,
                              const V&... from) {
    store_some_along<T>(std::index_sequence_for<V...>(), near, offset, mask, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
