// csrc/cpu/emitted/access.hpp - loads and stores of emitted code.
//
// An affine address needs one check, and a vector or scalar access. Other addresses are checked and
// accessed lane by lane. An access that is not allowed is left to the instruction's handler, which
// reports the fault.
#pragma once

#include "cpu/emitted/lane_access.hpp"

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
    Lanes<E> all;
    fill_lanes(typename Lanes<E>::Each(), made, all);
    merge_masked<T>(all, mask, v);
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
    ((to.v[K] = read_vector<V>(reinterpret_cast<const void*>(vector_address<E>(K, low, high)))),
     ...);
}
template <unsigned E, std::size_t... K>
CUPOLA_INLINE void store_vectors(std::index_sequence<K...>, std::uint64_t low, std::uint64_t high,
                                 const Lanes<E>& from) {
    (write_vector_at(reinterpret_cast<void*>(vector_address<E>(K, low, high)), from.v[K]), ...);
}
// A half warp of a register that one vector holds. Two halves that pass through memory would wait:
// a processor does not forward two stores to one load.
template <unsigned E>
using HalfWarp = VectorOf<std::uint8_t, half * E>;
template <unsigned E>
CUPOLA_INLINE auto load_half_warps(std::uint64_t low, std::uint64_t high) {
    const auto a = read_vector<HalfWarp<E>>(reinterpret_cast<const void*>(low)),
               b = read_vector<HalfWarp<E>>(reinterpret_cast<const void*>(high));
    return joined<std::uint8_t, sizeof a>(a, b, std::make_index_sequence<2 * sizeof a>());
}
template <unsigned K, unsigned E>
CUPOLA_INLINE void store_half(const Lanes<E>& v, std::uint64_t to) {
    write_vector_at(reinterpret_cast<void*>(to), part_of<K, half * E>(v.v[0]));
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void deinterleave(const T* memory, Lanes<sizeof(T)>& v) {
    if constexpr (Count == 1) return pack(memory, v);
    alignas(64) T made[lanes];
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) made[i] = memory[i * Count + K];
    pack(made, v);
}
template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void interleave(const Lanes<sizeof(T)>& v, T* memory) {
    if constexpr (Count == 1) return unpack(v, memory);
    alignas(64) T x[lanes];
    unpack(v, x);
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) memory[i * Count + K] = x[i];
}
template <unsigned E, class V, std::size_t... K>
CUPOLA_INLINE void fill_halves(std::index_sequence<K...>, V low, V high, Lanes<E>& v) {
    ((v.v[K] = typename Lanes<E>::Vector(K < sizeof...(K) / 2 ? low : high)), ...);
}
template <class T, unsigned K>
CUPOLA_INLINE void load_halves(std::uint64_t low, std::uint64_t high, Lanes<sizeof(T)>& v) {
    const T a = fetch<T>(low + K * sizeof(T)), b = fetch<T>(high + K * sizeof(T));
    if constexpr (halves_are_vectors<sizeof(T)>) {
        using Words = VectorOfLanes<T, sizeof(T)>;
        return fill_halves(typename Lanes<sizeof(T)>::Each(), Words{} + a, Words{} + b, v);
    }
    alignas(64) T made[lanes];
    for (unsigned i = 0; i < lanes; ++i) made[i] = i < half ? a : b;
    pack(made, v);
}

// ---- loads --------------------------------------------------------------------------------

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

// Accesses to strided elements of 4 or 8 bytes build vectors of scalars, with constant offsets.
template <class T>
inline constexpr bool has_strided_vectors = sizeof(T) >= 4 && halves_are_vectors<sizeof(T)>;
template <class T, std::int64_t S, std::size_t... I>
CUPOLA_INLINE auto strided_vector(std::index_sequence<I...>, std::uint64_t from) {
    using V = VectorOfLanes<T, sizeof(T)>;
    return V{fetch<T>(from + static_cast<std::uint64_t>(S) * I)...};
}
template <class T, std::int64_t S, std::size_t... K>
CUPOLA_INLINE void load_strided_vectors(std::index_sequence<K...>, std::uint64_t low,
                                        std::uint64_t high, Lanes<sizeof(T)>& to) {
    using L = Lanes<sizeof(T)>;
    constexpr unsigned each = L::size / sizeof(T), some = L::count / 2;
    ((to.v[K] = typename L::Vector(strided_vector<T, S>(
          std::make_index_sequence<each>(),
          (K < some ? low : high) + static_cast<std::uint64_t>(S) * (K % some * each)))),
     ...);
}
template <class T, std::int64_t S>
[[gnu::noinline]] void load_strided(std::uint64_t low, std::uint64_t high, Lanes<sizeof(T)>& to) {
    load_strided_vectors<T, S>(typename Lanes<sizeof(T)>::Each(), low, high, to);
}
template <class T, std::int64_t S, unsigned K, std::size_t... I>
CUPOLA_INLINE void store_strided_vector(std::index_sequence<I...>, std::uint64_t to,
                                        const Lanes<sizeof(T)>& from) {
    const auto v = VectorOfLanes<T, sizeof(T)>(from.v[K]);
    ((*reinterpret_cast<T*>(to + static_cast<std::uint64_t>(S) * I) = v[I]), ...);
}
template <class T, std::int64_t S, std::size_t... K>
CUPOLA_INLINE void store_strided_vectors(std::index_sequence<K...>, std::uint64_t low,
                                         std::uint64_t high, const Lanes<sizeof(T)>& from) {
    using L = Lanes<sizeof(T)>;
    constexpr unsigned each = L::size / sizeof(T), some = L::count / 2;
    (store_strided_vector<T, S, K>(
         std::make_index_sequence<each>(),
         (K < some ? low : high) + static_cast<std::uint64_t>(S) * (K % some * each), from),
     ...);
}
template <class T, std::int64_t S>
[[gnu::noinline]] void store_strided(std::uint64_t low, std::uint64_t high,
                                     const Lanes<sizeof(T)>& from) {
    store_strided_vectors<T, S>(typename Lanes<sizeof(T)>::Each(), low, high, from);
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
    } else if constexpr (S != bytes && count == 1 && has_strided_vectors<T>) {
        Lanes<sizeof(T)> made;
        load_strided<T, S>(low, high, made);
        ((to = made), ...);
    } else if constexpr (S != bytes) {
        alignas(64) T memory[lanes * count];
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i)
            __builtin_memcpy(memory + i * count,
                             reinterpret_cast<const void*>(lane_address<S>(i, low, high)), bytes);
        (deinterleave<T, count, K>(memory, to), ...);
    } else if constexpr (count == 1 && halves_are_vectors<sizeof(T)>) {
        (load_vectors(typename Lanes<sizeof(T)>::Each(), low, high, to), ...);
    } else if constexpr (count == 1) {
        ((to.v[0] = load_half_warps<sizeof(T)>(low, high)), ...);
    } else {
        alignas(64) T memory[lanes * count];
        // One load where the halves are contiguous: a load of two stores has to wait for them.
        if (high - low == sizeof memory / 2)
            __builtin_memcpy(memory, reinterpret_cast<const void*>(low), sizeof memory);
        else
            for (unsigned k = 0; k < 2; ++k)
                __builtin_memcpy(memory + k * half * count,
                                 reinterpret_cast<const void*>(k == 0 ? low : high),
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
// Loads the first `count` lanes from affine addresses that have been checked. The other lanes are
// 0.
template <class T, std::int64_t S, std::size_t... K, class... D>
CUPOLA_INLINE void load_first_elements(std::index_sequence<K...>, std::uint64_t from,
                                       std::uint32_t count, D&... to) {
    constexpr unsigned elements = sizeof...(D), bytes = elements * sizeof(T);
    alignas(64) T memory[lanes * elements] = {};
    if constexpr (S == bytes)
        __builtin_memcpy(memory, reinterpret_cast<const void*>(from), std::size_t{bytes} * count);
    else
        for (unsigned i = 0; i < count; ++i)
            __builtin_memcpy(
                memory + i * elements,
                reinterpret_cast<const void*>(from + static_cast<std::uint64_t>(S) * i), bytes);
    (deinterleave<T, elements, K>(memory, to), ...);
}
template <class T, std::int64_t S, class... D>
CUPOLA_INLINE void load_first(CheckedAddress checked, std::int64_t offset, std::uint32_t count,
                              D&... to) {
    load_first_elements<T, S>(std::index_sequence_for<D...>(),
                              checked.low + static_cast<std::uint64_t>(offset), count, to...);
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
    if constexpr (S != bytes && count == 1 && has_strided_vectors<T>) {
        const Lanes<E> v = (to_lanes<T>(from), ...);
        store_strided<T, S>(low, high, v);
    } else if constexpr (S != bytes) {
        alignas(64) T memory[lanes * count];
        (interleave<T, count, K>(to_lanes<T>(from), memory), ...);
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i)
            __builtin_memcpy(reinterpret_cast<void*>(lane_address<S>(i, low, high)),
                             memory + i * count, bytes);
    } else if constexpr (count == 1 && halves_are_vectors<E>) {
        const Lanes<E> v = (to_lanes<T>(from), ...);
        store_vectors(typename Lanes<E>::Each(), low, high, v);
    } else if constexpr (count == 1) {
        const Lanes<E> v = (to_lanes<T>(from), ...);
        store_half<0>(v, low), store_half<1>(v, high);
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

// Stores the first `count` lanes to contiguous addresses that have been checked.
template <class T, std::size_t... K, class... V>
CUPOLA_INLINE void store_first_elements(std::index_sequence<K...>, std::uint64_t to,
                                        std::uint32_t count, const V&... from) {
    constexpr unsigned elements = sizeof...(V);
    alignas(64) T memory[lanes * elements];
    (interleave<T, elements, K>(to_lanes<T>(from), memory), ...);
    __builtin_memcpy(reinterpret_cast<void*>(to), memory, elements * sizeof(T) * count);
}
template <class T, std::int64_t S, class... V>
CUPOLA_INLINE void store_first(CheckedAddress checked, std::int64_t offset, std::uint32_t count,
                               const V&... from) {
    static_assert(S == sizeof...(V) * sizeof(T));
    store_first_elements<T>(std::index_sequence_for<V...>(),
                            checked.low + static_cast<std::uint64_t>(offset), count, from...);
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
