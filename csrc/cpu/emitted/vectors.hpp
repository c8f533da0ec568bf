// csrc/cpu/emitted/vectors.hpp - a row's function applied to the vectors that registers are made
// of, where it takes them: for a compiler that is one operation in place of a loop over lanes,
// which it would have to unroll and to make vectors of.
#pragma once

#include "cpu/emitted/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Vectors of a register whose lanes have E bytes: of T, if that is their type, else of unsigned
// integers of their size (how far values are shifted, whose type has less).
template <class T, unsigned E>
using VectorOfLanes = VectorOf<std::conditional_t<sizeof(T) == E, T, Bytes<E>>, Lanes<E>::size>;

template <class T>
struct BitsInOrder {
    alignas(64) T of[64 / sizeof(T)] = {};
    constexpr BitsInOrder() {
        for (unsigned i = 0; i < 64 / sizeof(T); ++i) of[i] = T{1} << i;
    }
};
template <class T>
inline constexpr BitsInOrder<T> bits_in_order;

// All bits of the lanes whose bit is set, of vector K.
template <unsigned E, unsigned K>
CUPOLA_INLINE auto vector_of_bits(std::uint32_t bits) {
    using V = VectorOfLanes<Bytes<E>, E>;
    V bit;
    __builtin_memcpy(&bit, bits_in_order<Bytes<E>>.of, sizeof bit);
    constexpr unsigned each = Lanes<E>::size / E;
    return V((V{} + static_cast<Bytes<E>>(bits >> K * each)) & bit) != 0;
}
// Whether an operand can be taken vector by vector, E being the size of the instruction's type.
template <class T, unsigned E, class O>
inline constexpr bool fits = false;
template <class T, unsigned E>
inline constexpr bool fits<T, E, Lanes<E>> = sizeof(T) == E;
template <class T, unsigned E, class W>
inline constexpr bool fits<T, E, Uniform<W>> = sizeof(T) == sizeof(W) &&
                                               (sizeof(T) == E ||
                                                (sizeof(T) < E && std::is_unsigned_v<T>));
template <unsigned E>
inline constexpr bool fits<void, E, Predicate> = E >= 4;
template <class T, unsigned E, bool Masked>
inline constexpr bool fits<T, E, Writes<Masked, E>> = sizeof(T) == E && (!Masked || E >= 4);
template <unsigned E, bool Masked>
inline constexpr bool fits<void, E, WritesBits<Masked>> = E >= 4;

template <class T, unsigned E, unsigned K>
CUPOLA_INLINE auto vector_in(const Lanes<E>& o) {
    return VectorOfLanes<T, E>(o.v[K]);
}
// Added as bits: a sum of floats is not each value that is added to nothing.
template <class T, unsigned E, unsigned K, class W>
CUPOLA_INLINE auto vector_in(const Uniform<W>& o) {
    return VectorOfLanes<T, E>(VectorOfLanes<Bytes<E>, E>{} + Bytes<E>{o.value});
}
template <class T, unsigned E, unsigned K>
CUPOLA_INLINE auto vector_in(const Predicate& o) {
    if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>)
        return MaskBits{o.bits >> K * (Lanes<E>::size / E)};
    else
        return vector_of_bits<E, K>(o.bits);
}

template <class... T>
struct Types {};

template <bool Masked, unsigned K, unsigned E, class V>
CUPOLA_INLINE void write_vector(std::uint32_t mask, Lanes<E>& to, V made) {
    using Words = VectorOfLanes<Bytes<E>, E>;
    if constexpr (Masked) {
        const Words now = Words(made), old = Words(to.v[K]);
        if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>)
            to.v[K] = typename Lanes<E>::Vector(blend(mask >> K * (Lanes<E>::size / E), now, old));
        else
            to.v[K] = typename Lanes<E>::Vector(vector_of_bits<E, K>(mask) ? now : old);
    } else {
        to.v[K] = typename Lanes<E>::Vector(made);
    }
}
template <class Sem, class M, bool Masked, unsigned K, unsigned E, class D, class... T, class... O>
CUPOLA_INLINE void run_vector(std::uint32_t mask, Lanes<E>& to, Types<D, T...>, const O&... from) {
    VectorOfLanes<D, E> made;
    Sem::template lane<M>(made, vector_in<T, E, K>(from)...);
    write_vector<Masked, K>(mask, to, made);
}
template <class Sem, class M, unsigned E, unsigned K, class... T, class... O>
CUPOLA_INLINE std::uint32_t run_bits(Types<T...>, const O&... from) {
    std::uint32_t bits;
    if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>) {
        MaskBits made;
        Sem::template lane<M>(made, vector_in<T, E, K>(from)...);
        bits = made.of;
    } else {
        VectorOfLanes<std::conditional_t<E == 8, std::int64_t, std::int32_t>, E> made;
        Sem::template lane<M>(made, vector_in<T, E, K>(from)...);
        bits = signs(made);
    }
    return bits << K * Lanes<E>::size / E;
}

template <class Sem, class M, bool Masked, unsigned E, std::size_t... K, class Types, class... O>
CUPOLA_INLINE void run_vectors(std::uint32_t mask, std::index_sequence<K...>, Types types,
                               Lanes<E>& to, const O&... from) {
    (run_vector<Sem, M, Masked, K>(mask, to, types, from...), ...);
}
template <class Sem, class M, bool Masked, unsigned E, std::size_t... K, class... T, class D,
          class... O>
CUPOLA_INLINE void run_vectors(std::uint32_t mask, std::index_sequence<K...>, Types<void, T...>,
                               D& to, const O&... from) {
    write_bits(written<Masked>(to), mask, (run_bits<Sem, M, E, K>(Types<T...>(), from...) | ...));
}

// ---- of 32 bits and 64 ----------------------------------------------------------------------
// As many lanes at a time as a vector of the wider ones has: of the others, half a vector.

template <class T, class O>
inline constexpr bool fits_either = false;
template <class T, unsigned E>
inline constexpr bool fits_either<T, Lanes<E>> = sizeof(T) == E&& E >= 4;
template <class T, class W>
inline constexpr bool fits_either<T, Uniform<W>> = sizeof(T) == sizeof(W) && sizeof(T) >= 4;
template <class T, unsigned E, bool Masked>
inline constexpr bool fits_either<T, Writes<Masked, E>> = sizeof(T) == E&& E >= 4 && E <= 8;

template <class T, unsigned G, unsigned K, unsigned E>
CUPOLA_INLINE auto some_in(const Lanes<E>& o) {
    if constexpr (G * E == Lanes<E>::size) {
        return VectorOf<T, G * E>(o.v[K]);
    } else {
        const auto whole = o.v[K / 2];
        VectorOf<T, G * E> part;
        __builtin_memcpy(&part, reinterpret_cast<const std::byte*>(&whole) + K % 2 * sizeof part,
                         sizeof part);
        return part;
    }
}
template <class T, unsigned G, unsigned K, class W>
CUPOLA_INLINE auto some_in(const Uniform<W>& o) {
    using Words = VectorOf<W, G * sizeof(W)>;
    return VectorOf<T, G * sizeof(T)>(Words{} + o.value);
}
template <class Sem, class M, unsigned G, unsigned K, class D, class... T, class... O>
CUPOLA_INLINE auto run_some(Types<D, T...>, const O&... from) {
    VectorOf<D, G * sizeof(D)> made;
    Sem::template lane<M>(made, some_in<T, G, K>(from)...);
    return made;
}
template <class Sem, class M, bool Masked, unsigned G, std::size_t... K, unsigned E, class D,
          class... T, class... O>
CUPOLA_INLINE void run_mixed(std::uint32_t mask, std::index_sequence<K...>, Types<D, T...> types,
                             Lanes<E>& to, const O&... from) {
    if constexpr (G * E == Lanes<E>::size)
        (write_vector<Masked, K>(mask, to, run_some<Sem, M, G, K>(types, from...)), ...);
    else
        (write_vector<Masked, K>(mask, to,
                                 joined<D, G * E>(run_some<Sem, M, G, 2 * K>(types, from...),
                                                  run_some<Sem, M, G, 2 * K + 1>(types, from...),
                                                  std::make_index_sequence<2 * G>())),
         ...);
}

// What a vector's function is asked for: the first operand's type that there is.
template <class... T>
struct FirstType;
template <class T, class... U>
struct FirstType<T, U...> {
    using type = T;
};
template <class... U>
struct FirstType<void, U...> : FirstType<U...> {};

template <class... T>
inline constexpr unsigned widest = ((sizeof(T) == 8) || ...) ? 8 : 4;

template <class Row, class M, std::size_t... I, class... O>
[[gnu::noinline]] void map_called(std::uint32_t mask, std::index_sequence<I...> index,
                                  const O&... operands) {
    map_at<Row, M>(mask, index, operands...);
}

// By no vectors. `Called`: compiled once for all places that have it.
template <bool Called, class Row, class M, std::size_t... I, class D, class... O>
CUPOLA_INLINE void map_lanes(std::uint32_t mask, std::index_sequence<I...> index, const D& to,
                             const O&... from) {
    if constexpr (Called)
        map_called<Row, M>(mask, index, to, SpilledOperand<O>(from).lend()...);
    else
        map_at<Row, M>(mask, index, to, from...);
}

template <bool Called, class Row, class M, bool Masked, std::size_t... I, class D, class... O>
CUPOLA_INLINE void map_row(std::uint32_t mask, std::index_sequence<I...>, D& to, const O&... from) {
    using First = Element<Row, 0, M>;
    using T = typename FirstType<First, Element<Row, I + 1, M>...>::type;
    using Written = std::decay_t<decltype(written<Masked>(to))>;
    using Sem = typename Row::Sem;
    constexpr unsigned E = sizeof(T);
    constexpr Types<First, Element<Row, I + 1, M>...> types;
    constexpr std::make_index_sequence<Lanes<E>::count> each;
    if constexpr (fits<First, E, Written> && (fits<Element<Row, I + 1, M>, E, O> && ...) &&
                  takes_vectors<Sem, M, T>) {
        run_vectors<Sem, M, Masked, E>(mask, each, types, to, from...);
    } else if constexpr (mixes_widths<Sem, M> && fits_either<First, Written> &&
                         (fits_either<Element<Row, I + 1, M>, O> && ...)) {
        constexpr unsigned G = vector_bytes / widest<First, Element<Row, I + 1, M>...>;
        run_mixed<Sem, M, Masked, G>(mask, each, types, to, from...);
    } else {
        constexpr std::index_sequence<0, I + 1 ...> all;
        if constexpr (std::is_copy_assignable_v<D>) {
            D made = to;
            map_lanes<Called, Row, M>(mask, all, written<Masked>(made), from...);
            to = made;
        } else {
            map_lanes<Called, Row, M>(mask, all, SpilledOperand<D>(to).lend(), from...);
        }
    }
}

// A row's function for each lane. A result that is masked is written in the mask's lanes alone.
template <class Row, class M, bool Masked, class D, class... O>
CUPOLA_INLINE void apply_lanes(std::uint32_t mask, D&& to, const O&... from) {
    map_row<false, Row, M, Masked>(mask, std::index_sequence_for<O...>(), to, from...);
}
// In kernels in parts.
template <class Row, class M, bool Masked, class D, class... O>
CUPOLA_INLINE void map_apart(std::uint32_t mask, D&& to, const O&... from) {
    map_row<true, Row, M, Masked>(mask, std::index_sequence_for<O...>(), to, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
