// csrc/cpu/native/access.hpp - loads and stores of printed code: addresses that follow each other
// over the lanes, or are the same, become one access with one check. All else is left to the
// instruction's handler, faults too.
#pragma once

#include "cpu/native/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// 32 addresses as vectors: a loop over half a warp would be unrolled rather than made one.
inline constexpr unsigned words = vector_bytes / 8, vectors = lanes / words;
using Words __attribute__((vector_size(vector_bytes))) = std::uint64_t;
static_assert(vectors >= 2, "a half of a warp is whole vectors");

// Addresses as the instruction means them: base and offset, of 32 bits or 64.
template <class O>
struct Addresses;
template <>
struct Addresses<Reads<8>> {
    Words x[vectors];
    Addresses(Reads<8> o, std::int64_t offset) {
        for (unsigned k = 0; k < vectors; ++k) {
            __builtin_memcpy(&x[k], &o.v.v[k], vector_bytes);
            x[k] += static_cast<std::uint64_t>(offset);
        }
    }
};
template <>
struct Addresses<Reads<4>> {
    Words x[vectors];
    Addresses(Reads<4> o, std::int64_t offset) {
        using Low __attribute__((vector_size(vector_bytes / 2))) = std::uint32_t;
        for (unsigned k = 0; k < vectors; ++k) {
            Low low;
            __builtin_memcpy(&low,
                             reinterpret_cast<const std::byte*>(o.v.v) + k * (vector_bytes / 2),
                             vector_bytes / 2);
            low += static_cast<std::uint32_t>(offset);
            x[k] = __builtin_convertvector(low, Words);
        }
    }
};

// Whether `bytes` from an address of the window on may be followed; then where they lie.
template <Window W>
CUPOLA_INLINE bool reach(const Warp& w, std::uint32_t slot, std::uint64_t from, std::uint64_t bytes,
                         bool write, std::uint64_t& host) {
    const Block& b = *w.block;
    if constexpr (W == Window::shared) {
        host = b.shared + from;
        return from <= b.shared_bytes && b.shared_bytes - from >= bytes;
    } else {
        const Range& range = b.ranges[slot];
        host = from;
        return from >= range.begin && from <= range.end && range.end - from >= bytes &&
               (range.writable || !write);
    }
}

struct Steps {
    alignas(64) std::uint64_t of[lanes] = {};
    constexpr explicit Steps(unsigned step) {
        for (unsigned i = 0; i < lanes; ++i) of[i] = i % (lanes / 2) * std::uint64_t{step};
    }
};
template <unsigned Step>
inline constexpr Steps steps{Step};

// Whether each half of a warp has one address and steps of it, as blocks of 16 columns do.
template <unsigned Step>
CUPOLA_INLINE bool in_halves(const Words (&x)[vectors]) {
    const std::uint64_t first[2] = {x[0][0], x[vectors / 2][0]};
    Words off = {};
    for (unsigned k = 0; k < vectors; ++k) {
        Words step;
        __builtin_memcpy(&step, steps<Step>.of + k * words, vector_bytes);
        off |= x[k] ^ (step + first[k / (vectors / 2)]);
    }
    std::uint64_t any = 0;
    for (unsigned i = 0; i < words; ++i) any |= off[i];
    return any == 0;
}

// Whether active lane i's address is the first one's and i steps: then what lane 0's would be.
template <unsigned Step>
CUPOLA_INLINE bool in_line(const std::uint64_t* x, std::uint32_t mask, std::uint64_t& first) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
    first = x[lane] - lane * std::uint64_t{Step};
    std::uint64_t off = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint64_t apart = x[i] ^ (first + i * std::uint64_t{Step});
        off |= (mask & lane_bits.of[i]) != 0 ? apart : 0;
    }
    return off == 0;
}

template <class T>
CUPOLA_INLINE void set_same(T value, std::uint32_t mask, Lanes<sizeof(T)>& v) {
    alignas(64) T made[lanes], old[lanes], now[lanes];
    for (auto& each : made) each = value;
    if (mask == all_lanes) return collect_lanes(made, v);
    spread(v, old);
    select(mask, made, old, now);
    collect_lanes(now, v);
}

template <class T, unsigned Count, unsigned K>
CUPOLA_INLINE void take_element(const T* memory, Lanes<sizeof(T)>& v) {
    alignas(64) T made[lanes];
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) made[i] = memory[i * Count + K];
    collect_lanes(made, v);
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
    for (unsigned i = 0; i < lanes; ++i) made[i] = i < lanes / 2 ? a : b;
    collect_lanes(made, v);
}

// What a warp does seldom is compiled once for all places. `memory` has count elements of each
// lane.
template <class T, Window W, unsigned Count>
[[gnu::noinline]] bool load_masked(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                   const std::uint64_t* x, T* memory) {
    constexpr unsigned bytes = Count * sizeof(T);
    std::uint64_t first, host;
    if (in_line<0>(x, mask, first)) {
        if (first % bytes != 0 || !reach<W>(w, slot, first, bytes, false, host)) return false;
        T value[Count];
        for (unsigned k = 0; k < Count; ++k) value[k] = fetch<T>(host + k * sizeof(T));
        for (std::uint32_t m = mask; m != 0; m &= m - 1)
            __builtin_memcpy(memory + Count * static_cast<unsigned>(__builtin_ctz(m)), value,
                             bytes);
        return true;
    }
    if (!in_line<bytes>(x, mask, first)) return false;
    const auto low = static_cast<unsigned>(__builtin_ctz(mask));
    const auto high = lanes - static_cast<unsigned>(__builtin_clz(mask));
    if (first % bytes != 0 ||
        !reach<W>(w, slot, first + low * bytes, (high - low) * bytes, false, host))
        return false;
    host -= low * bytes;
    for (std::uint32_t m = mask; m != 0; m &= m - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(m));
        __builtin_memcpy(memory + i * Count, reinterpret_cast<const void*>(host + i * bytes),
                         bytes);
    }
    return true;
}
template <class T, Window W, unsigned Count>
[[gnu::noinline]] bool store_masked(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                    const std::uint64_t* x, const T* memory) {
    constexpr unsigned bytes = Count * sizeof(T);
    std::uint64_t first, host;
    if (!in_line<bytes>(x, mask, first)) return false;
    const auto low = static_cast<unsigned>(__builtin_ctz(mask));
    const auto high = lanes - static_cast<unsigned>(__builtin_clz(mask));
    if (first % bytes != 0 ||
        !reach<W>(w, slot, first + low * bytes, (high - low) * bytes, true, host))
        return false;
    host -= low * bytes;
    for (std::uint32_t m = mask; m != 0; m &= m - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(m));
        __builtin_memcpy(reinterpret_cast<void*>(host + i * bytes), memory + i * Count, bytes);
    }
    return true;
}

template <class T, Window W, std::size_t... K, class A, class... D>
CUPOLA_INLINE bool load_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                           std::uint32_t slot, A address, std::int64_t offset, D&... to) {
    constexpr unsigned count = sizeof...(D), bytes = count * sizeof(T), half = lanes / 2;
    const Addresses<A> addresses(address, offset);
    const std::uint64_t x0 = addresses.x[0][0], x1 = addresses.x[vectors / 2][0];
    alignas(64) T memory[lanes * count];
    if (__builtin_expect(mask != all_lanes, 0)) {
        alignas(64) std::uint64_t x[lanes];
        __builtin_memcpy(x, addresses.x, sizeof x);
        (put_element<T, count, K>(to, memory), ...);
        if (!load_masked<T, W, count>(w, mask, slot, x, memory)) return false;
        (take_element<T, count, K>(memory, to), ...);
        return true;
    }
    std::uint64_t low, high;
    if ((x0 | x1) % bytes != 0) return false;
    if (in_halves<bytes>(addresses.x)) {
        if (!reach<W>(w, slot, x0, half * bytes, false, low) ||
            !reach<W>(w, slot, x1, half * bytes, false, high))
            return false;
        __builtin_memcpy(memory, reinterpret_cast<const void*>(low), sizeof memory / 2);
        __builtin_memcpy(memory + half * count, reinterpret_cast<const void*>(high),
                         sizeof memory / 2);
        (take_element<T, count, K>(memory, to), ...);
        return true;
    }
    if (!in_halves<0>(addresses.x) || !reach<W>(w, slot, x0, bytes, false, low) ||
        !reach<W>(w, slot, x1, bytes, false, high))
        return false;
    (take_halves<T, K>(low, high, to), ...);
    return true;
}
template <class T, Window W, std::size_t... K, class V, class... D>
CUPOLA_INLINE bool load_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                           std::uint32_t slot, One<V> address, std::int64_t offset, D&... to) {
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
CUPOLA_INLINE bool load(const Warp& w, std::uint32_t mask, std::uint32_t slot, A address,
                        std::int64_t offset, D&... to) {
    return load_as<T, W>(std::index_sequence_for<D...>(), w, mask, slot, address, offset, to...);
}

template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> all_of(T value) {
    Lanes<sizeof(T)> v;
    set_same(value, all_lanes, v);
    return v;
}
template <class T>
CUPOLA_INLINE const Lanes<sizeof(T)>& lanes_of(Reads<sizeof(T)> o) {
    return o.v;
}
template <class T>
CUPOLA_INLINE Lanes<sizeof(T)> lanes_of(One<T> o) {
    return all_of(o.value);
}

template <class T, Window W, std::size_t... K, class A, class... S>
CUPOLA_INLINE bool store_as(std::index_sequence<K...>, const Warp& w, std::uint32_t mask,
                            std::uint32_t slot, A address, std::int64_t offset, S... from) {
    constexpr unsigned count = sizeof...(S), bytes = count * sizeof(T), half = lanes / 2;
    const Addresses<A> addresses(address, offset);
    const std::uint64_t x0 = addresses.x[0][0], x1 = addresses.x[vectors / 2][0];
    alignas(64) T memory[lanes * count];
    (put_element<T, count, K>(lanes_of<T>(from), memory), ...);
    if (__builtin_expect(mask != all_lanes, 0)) {
        alignas(64) std::uint64_t x[lanes];
        __builtin_memcpy(x, addresses.x, sizeof x);
        return store_masked<T, W, count>(w, mask, slot, x, memory);
    }
    std::uint64_t low, high;
    if ((x0 | x1) % bytes != 0 || !in_halves<bytes>(addresses.x) ||
        !reach<W>(w, slot, x0, half * bytes, true, low) ||
        !reach<W>(w, slot, x1, half * bytes, true, high))
        return false;
    __builtin_memcpy(reinterpret_cast<void*>(low), memory, sizeof memory / 2);
    __builtin_memcpy(reinterpret_cast<void*>(high), memory + half * count, sizeof memory / 2);
    return true;
}
// To one address for all lanes: the last one's value stays, which is the handler's affair.
template <class T, Window W, std::size_t... K, class V, class... S>
CUPOLA_INLINE bool store_as(std::index_sequence<K...>, const Warp&, std::uint32_t, std::uint32_t,
                            One<V>, std::int64_t, S...) {
    return false;
}
template <class T, Window W, class A, class... S>
CUPOLA_INLINE bool store(const Warp& w, std::uint32_t mask, std::uint32_t slot, A address,
                         std::int64_t offset, S... from) {
    return store_as<T, W>(std::index_sequence_for<S...>(), w, mask, slot, address, offset, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
