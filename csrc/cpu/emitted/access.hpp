// csrc/cpu/emitted/access.hpp - loads and stores of emitted code.
//
// An affine address needs one check, and a vector or scalar access. Other addresses are checked and
// accessed lane by lane. An access that is not allowed is left to the instruction's handler, which
// reports the fault.
#pragma once

#include "cpu/emitted/access_check.hpp"
#include "cpu/emitted/vectors.hpp"

namespace cupola::cpu::CUPOLA_ISA {

template <unsigned E, class V, std::size_t... K>
CUPOLA_INLINE void fill_lanes(std::index_sequence<K...>, V made, Lanes<E>& v) {
    ((v.v[K] = typename Lanes<E>::Vector(made)), ...);
}
// Writes registers vector by vector where possible: arrays of lanes dominate a compiler's time.
template <class T>
CUPOLA_INLINE void splat(T value, std::uint32_t mask, Lanes<sizeof(T)>& v) {
    constexpr unsigned E = sizeof(T);
    using Words = VectorOfLanes<Bytes<E>, E>;
    const Words made = Words{} + bit_cast<Bytes<E>>(value);
    if (mask == all_lanes) return fill_lanes(typename Lanes<E>::Each(), made, v);
    alignas(64) Bytes<E> all[lanes], old[lanes], now[lanes];
    for (auto& each : all) each = bit_cast<Bytes<E>>(value);
    unpack(v, old);
    select(mask, all, old, now);
    pack(now, v);
}

// Affine accesses are split by half warp. True where a vector holds at most half a warp.
template <unsigned E>
inline constexpr bool halves_are_vectors = Lanes<E>::count >= 2;
template <unsigned E>
CUPOLA_INLINE std::uint64_t vector_address(unsigned k, std::uint64_t low, std::uint64_t high) {
    constexpr unsigned some = Lanes<E>::count / 2;
    return k < some ? low + k * Lanes<E>::size : high + (k - some) * Lanes<E>::size;
}
template <unsigned E, std::size_t... K>
CUPOLA_INLINE void load_vectors(std::index_sequence<K...>, std::uint64_t low, std::uint64_t high,
                                Lanes<E>& to) {
    using V = typename Lanes<E>::Vector;
    ((to.v[K] =
          read_vector<V>(reinterpret_cast<const void*>(vector_address<E>(K, low, high)))),
     ...);
}
template <unsigned E, std::size_t... K>
CUPOLA_INLINE void store_vectors(std::index_sequence<K...>, std::uint64_t low, std::uint64_t high,
                                 const Lanes<E>& from) {
    (write_vector_at(reinterpret_cast<void*>(vector_address<E>(K, low, high)), from.v[K]), ...);
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void deinterleave(const T* memory, Lanes<sizeof(T)>& v) {
    alignas(64) T made[lanes];
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) made[i] = memory[i * Count + K];
    pack(made, v);
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void interleave(const Lanes<sizeof(T)>& v, T* memory) {
    alignas(64) T x[lanes];
    unpack(v, x);
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) memory[i * Count + K] = x[i];
}
template <class T, unsigned K>
CUPOLA_INLINE void load_halves(std::uint64_t low, std::uint64_t high, Lanes<sizeof(T)>& v) {
    const T a = fetch<T>(low + K * sizeof(T)), b = fetch<T>(high + K * sizeof(T));
    alignas(64) T made[lanes];
    for (unsigned i = 0; i < lanes; ++i) made[i] = i < half ? a : b;
    pack(made, v);
}

// ---- lane by lane -------------------------------------------------------------------------
// Compiled once for all accesses. `memory` has Count elements for each lane.

// Host addresses of the active lanes' elements. An inactive lane has some allowed address.
struct LaneAddresses {
    alignas(64) std::uint64_t of[lanes];
    template <class T>
    T* at(unsigned lane, unsigned k = 0) const {
        return reinterpret_cast<T*>(of[lane]) + k;
    }
};
// Calls visit(i, word of lane i) for words of 4 or 8 bytes. It reads 8 bytes at a time, because
// loads dominate the time.
template <class V, class Visit>
CUPOLA_INLINE void for_each_word(const V* words, Visit visit) {
    for (unsigned i = 0; i < lanes; i += 8 / sizeof(V)) {
        std::uint64_t some;
        __builtin_memcpy(&some, words + i, sizeof some);
        visit(i, static_cast<V>(some));
        if constexpr (sizeof(V) == 4) visit(i + 1, some >> 32);
    }
}
// Whether all lanes may access `bytes` at their offsets in shared memory; writes the offsets.
// Shared memory begins at offset 0, so only the upper bound is tested.
template <unsigned E, std::size_t... K>
CUPOLA_INLINE bool check_shared_vectors(std::index_sequence<K...>, const Lanes<E>& address,
                                        Bytes<E> offset, Bytes<E> last, unsigned bytes,
                                        Bytes<E>* offsets) {
    using V = VectorOfLanes<Bytes<E>, E>;
    const V here[] = {(V(address.v[K]) + offset)...};
    (write_vector_at(offsets + K * sizeof(V) / E, here[K]), ...);
    return is_zero(((V(here[K] > last) | (here[K] & Bytes<E>{bytes - 1})) | ...));
}
template <unsigned E>
CUPOLA_INLINE bool check_shared(const Block& block, const Lanes<E>& address, std::int64_t offset,
                                unsigned bytes, Bytes<E>* offsets) {
    if (block.shared_bytes < bytes) return false;
    return check_shared_vectors(typename Lanes<E>::Each(), address, static_cast<Bytes<E>>(offset),
                                static_cast<Bytes<E>>(block.shared_bytes - bytes), bytes, offsets);
}
template <class V>
CUPOLA_INLINE bool resolve_shared(const Block& block, std::uint32_t mask, const V* address,
                                  unsigned bytes, LaneAddresses& addresses) {
    alignas(64) V zero[lanes] = {}, here[lanes];
    select(mask, address, zero, here);
    Lanes<sizeof(V)> all;
    pack(here, all);
    if (!check_shared(block, all, 0, bytes, here)) return false;
    for (unsigned i = 0; i < lanes; ++i) addresses.of[i] = block.shared + here[i];
    return true;
}
template <Window W, class V>
CUPOLA_INLINE bool resolve_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                 const V* address, std::int64_t offset, unsigned bytes, bool write,
                                 LaneAddresses& addresses) {
    alignas(64) V x[lanes], here[lanes], first[lanes];
    for (unsigned i = 0; i < lanes; ++i) x[i] = static_cast<V>(address[i] + static_cast<V>(offset));
    if constexpr (W == Window::shared) return resolve_shared(*w.block, mask, x, bytes, addresses);
    const Range& range = w.block->ranges[slot];
    if (range.end - range.begin < bytes || (write && !range.writable)) return false;
    const V base = x[__builtin_ctz(mask)];
    for (auto& each : first) each = base;
    select(mask, x, first, here);
    // Bit 63 tells that an address is below the range or above its last element.
    const std::uint64_t begin = range.begin, last = range.end - begin - bytes;
    std::uint64_t outside = 0, bits = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint64_t distance = std::uint64_t{here[i]} - begin;
        outside |= distance | (last - distance);
        bits |= here[i];
        addresses.of[i] = here[i];
    }
    return outside >> 63 == 0 && bits % bytes == 0;
}

template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool load_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                  const V* address, std::int64_t offset, T* memory) {
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, Count * sizeof(T), false, addresses))
        return false;
    for (unsigned k = 0; k < Count; ++k) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) memory[i * Count + k] = *addresses.at<const T>(i, k);
    }
    return true;
}
template <class T, class V>
CUPOLA_INLINE bool store_shared(const Block& block, const V* address, std::int64_t offset,
                                const T* memory) {
    Lanes<sizeof(V)> all;
    pack(address, all);
    alignas(64) V here[lanes];
    if (!check_shared(block, all, offset, sizeof(T), here)) return false;
    for_each_word(here, [shared = block.shared, memory](unsigned i, std::uint64_t at) {
        *reinterpret_cast<T*>(shared + at) = memory[i];
    });
    return true;
}
template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool store_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                   const V* address, std::int64_t offset, const T* memory) {
    if constexpr (W == Window::shared && Count == 1)
        if (mask == all_lanes) return store_shared(*w.block, address, offset, memory);
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, Count * sizeof(T), true, addresses))
        return false;
    const auto store_lane = [&](unsigned i) {
        for (unsigned k = 0; k < Count; ++k) *addresses.at<T>(i, k) = memory[i * Count + k];
    };
    if (mask == all_lanes) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) store_lane(i);
        return true;
    }
    for (std::uint32_t m = mask; m != 0; m &= m - 1)
        store_lane(static_cast<unsigned>(__builtin_ctz(m)));
    return true;
}

// ---- loads --------------------------------------------------------------------------------

template <class T>
CUPOLA_INLINE void merge_masked(const Lanes<sizeof(T)>& made, std::uint32_t mask,
                                Lanes<sizeof(T)>& v) {
    alignas(64) T x[lanes], old[lanes], now[lanes];
    unpack(made, x);
    unpack(v, old);
    select(mask, x, old, now);
    pack(now, v);
}

template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void deinterleave_masked(const T* memory, std::uint32_t mask, Lanes<sizeof(T)>& v) {
    Lanes<sizeof(T)> made;
    deinterleave<T, Count, K>(memory, made);
    merge_masked<T>(made, mask, v);
}

template <class T, Window W, std::size_t... K, class A, class... D>
CUPOLA_INLINE bool load_elements(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                                 std::uint32_t slot, const A& address, std::int64_t offset,
                                 D&... to) {
    constexpr unsigned count = sizeof...(D);
    alignas(64) T memory[lanes * count];
    alignas(64) OperandWord<A> x[lanes];
    unpack(address, x);
    if (!load_lanes<T, W, count>(w, mask, slot, x, offset, memory)) return false;
    (deinterleave_masked<T, count, K>(memory, mask, to), ...);
    return true;
}
template <class T, Window W, std::size_t... K, class V, class... D>
CUPOLA_INLINE bool load_elements(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                                 std::uint32_t slot, Uniform<V> address, std::int64_t offset,
                                 D&... to) {
    constexpr unsigned bytes = sizeof...(D) * sizeof(T);
    const std::uint64_t from =
        static_cast<V>(address.value + static_cast<V>(static_cast<std::uint64_t>(offset)));
    std::uint64_t host;
    if (from % bytes != 0 || !check_range<W>(w, slot, from, bytes, false, host)) return false;
    (splat<T>(fetch<T>(host + K * sizeof(T)), mask, to), ...);
    return true;
}

// Returns false if nothing was loaded. The caller then runs the handler.
template <class T, Window W, class A, class... D>
CUPOLA_INLINE bool load(const Warp& w, std::uint32_t mask, std::uint32_t slot, const A& address,
                        std::int64_t offset, D&... to) {
    return load_elements<T, W>(std::index_sequence_for<D...>(), w, mask, slot, address, offset,
                               to...);
}

// Addresses of the elements of lane `lane`, from those of the first lanes of the half warps.
template <std::int64_t S>
CUPOLA_INLINE std::uint64_t lane_address(unsigned lane, std::uint64_t low, std::uint64_t high) {
    return (lane < half ? low : high) + static_cast<std::uint64_t>(S) * (lane % half);
}

// Loads all lanes from affine addresses that have been checked.
template <class T, std::int64_t S, std::size_t... K, class... D>
CUPOLA_INLINE void load_affine_elements(std::index_sequence<K...>, CheckedAddress checked,
                                        std::int64_t offset, D&... to) {
    constexpr unsigned count = sizeof...(D), bytes = count * sizeof(T);
    const std::uint64_t low = checked.low + static_cast<std::uint64_t>(offset),
                        high = checked.high + static_cast<std::uint64_t>(offset);
    if constexpr (S == 0) {
        (load_halves<T, K>(low, high, to), ...);
    } else if constexpr (S != bytes) {
        alignas(64) T memory[lanes * count];
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i)
            __builtin_memcpy(memory + i * count,
                             reinterpret_cast<const void*>(lane_address<S>(i, low, high)), bytes);
        (deinterleave<T, count, K>(memory, to), ...);
    } else if constexpr (count == 1 && halves_are_vectors<sizeof(T)>) {
        (load_vectors(typename Lanes<sizeof(T)>::Each(), low, high, to), ...);
    } else {
        alignas(64) T memory[lanes * count];
        __builtin_memcpy(memory, reinterpret_cast<const void*>(low), sizeof memory / 2);
        __builtin_memcpy(memory + half * count, reinterpret_cast<const void*>(high),
                         sizeof memory / 2);
        (deinterleave<T, count, K>(memory, to), ...);
    }
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_affine(CheckedAddress checked, std::int64_t offset, D&... to) {
    load_affine_elements<T, S>(std::index_sequence_for<D...>(), checked, offset, to...);
}
// Loads some lanes from affine addresses that are valid for all lanes.
template <class T, std::int64_t S, std::size_t... K, class... D>
CUPOLA_INLINE void load_masked_elements(std::index_sequence<K...> each, CheckedAddress checked,
                                        std::int64_t offset, std::uint32_t mask, D&... to) {
    Lanes<sizeof(T)> made[sizeof...(D)];
    load_affine_elements<T, S>(each, checked, offset, made[K]...);
    (merge_masked<T>(made[K], mask, to), ...);
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_affine_masked(CheckedAddress checked, std::int64_t offset,
                                      std::uint32_t mask, D&... to) {
    load_masked_elements<T, S>(std::index_sequence_for<D...>(), checked, offset, mask, to...);
}
template <class T, std::size_t... K, class... D>
CUPOLA_INLINE void load_uniform_elements(std::index_sequence<K...>, std::uint64_t from, D&... to) {
    (splat<T>(fetch<T>(from + K * sizeof(T)), all_lanes, to), ...);
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_uniform(CheckedAddress checked, std::int64_t offset, D&... to) {
    load_uniform_elements<T>(std::index_sequence_for<D...>(),
                             checked.low + static_cast<std::uint64_t>(offset), to...);
}

// ---- stores -------------------------------------------------------------------------------

template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> splat(T value) {
    Lanes<sizeof(T)> v;
    splat(value, all_lanes, v);
    return v;
}
template <class T>
CUPOLA_INLINE const Lanes<sizeof(T)>& to_lanes(const Lanes<sizeof(T)>& v) {
    return v;
}
template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> to_lanes(Uniform<T> o) {
    return splat(o.value);
}

template <class T, Window W, std::size_t... K, class A, class... S>
CUPOLA_INLINE bool store_elements(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                                  std::uint32_t slot, const A& address, std::int64_t offset,
                                  const S&... from) {
    constexpr unsigned count = sizeof...(S);
    alignas(64) T memory[lanes * count];
    (interleave<T, count, K>(to_lanes<T>(from), memory), ...);
    alignas(64) OperandWord<A> x[lanes];
    unpack(to_lanes<OperandWord<A>>(address), x);
    return store_lanes<T, W, count>(w, mask, slot, x, offset, memory);
}
template <class T, Window W, class A, class... S>
CUPOLA_INLINE bool store(const Warp& w, std::uint32_t mask, std::uint32_t slot, const A& address,
                         std::int64_t offset, const S&... from) {
    return store_elements<T, W>(std::index_sequence_for<S...>(), w, mask, slot, address, offset,
                                from...);
}

template <class T, std::int64_t S, std::size_t... K, class... V>
CUPOLA_INLINE void store_affine_elements(std::index_sequence<K...>, CheckedAddress checked,
                                         std::int64_t offset, const V&... from) {
    constexpr unsigned count = sizeof...(V), E = sizeof(T), bytes = count * E;
    const std::uint64_t low = checked.low + static_cast<std::uint64_t>(offset),
                        high = checked.high + static_cast<std::uint64_t>(offset);
    if constexpr (S != bytes) {
        alignas(64) T memory[lanes * count];
        (interleave<T, count, K>(to_lanes<T>(from), memory), ...);
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i)
            __builtin_memcpy(reinterpret_cast<void*>(lane_address<S>(i, low, high)),
                             memory + i * count, bytes);
    } else if constexpr (count == 1 && halves_are_vectors<E>) {
        const Lanes<E> v = (to_lanes<T>(from), ...);
        store_vectors(typename Lanes<E>::Each(), low, high, v);
    } else {
        alignas(64) T memory[lanes * count];
        (interleave<T, count, K>(to_lanes<T>(from), memory), ...);
        __builtin_memcpy(reinterpret_cast<void*>(low), memory, sizeof memory / 2);
        __builtin_memcpy(reinterpret_cast<void*>(high), memory + half * count, sizeof memory / 2);
    }
}
template <class T, std::int64_t S, class... V>
CUPOLA_INLINE void store_affine(CheckedAddress checked, std::int64_t offset, const V&... from) {
    store_affine_elements<T, S>(std::index_sequence_for<V...>(), checked, offset, from...);
}

template <class T, std::int64_t S, std::size_t... K, class... V>
CUPOLA_INLINE void store_masked_elements(std::index_sequence<K...>, CheckedAddress checked,
                                         std::int64_t offset, std::uint32_t mask,
                                         const V&... from) {
    constexpr unsigned count = sizeof...(V), bytes = count * sizeof(T);
    alignas(64) T memory[lanes * count];
    (interleave<T, count, K>(to_lanes<T>(from), memory), ...);
    for (; mask != 0; mask &= mask - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(mask));
        const std::uint64_t to =
            lane_address<S>(i, checked.low, checked.high) + static_cast<std::uint64_t>(offset);
        __builtin_memcpy(reinterpret_cast<void*>(to), memory + i * count, bytes);
    }
}
template <class T, std::int64_t S, class... V>
CUPOLA_INLINE void store_affine_masked(CheckedAddress checked, std::int64_t offset,
                                       std::uint32_t mask, const V&... from) {
    store_masked_elements<T, S>(std::index_sequence_for<V...>(), checked, offset, mask, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
