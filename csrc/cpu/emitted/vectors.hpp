// csrc/cpu/emitted/vectors.hpp - applies a row's function to whole vectors of a register, if it
// takes them.
//
// The compiler then sees one operation, not a loop over lanes that it would have to vectorize.
#pragma once

#include "cpu/emitted/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The vector type of a register whose lanes have E bytes. Its elements are of T if the sizes match.
// Otherwise, as for a shift count, they are unsigned integers of E bytes.
template <class T, unsigned E>
using VectorOfLanes = VectorOf<std::conditional_t<sizeof(T) == E, T, Bytes<E>>, Lanes<E>::size>;

template <class T>
struct LaneBitMasks {
    alignas(64) T of[64 / sizeof(T)] = {};
    constexpr LaneBitMasks() {
        for (unsigned i = 0; i < 64 / sizeof(T); ++i) of[i] = T{1} << i;
    }
};
template <class T>
inline constexpr LaneBitMasks<T> lane_bit_masks;

// Vector K of a mask: all bits of each lane whose mask bit is set.
template <unsigned E, unsigned K>
CUPOLA_INLINE auto expand_mask(std::uint32_t bits) {
    using V = VectorOfLanes<Bytes<E>, E>;
    V bit;
    __builtin_memcpy(&bit, lane_bit_masks<Bytes<E>>.of, sizeof bit);
    constexpr unsigned each = Lanes<E>::size / E;
    return V((V{} + static_cast<Bytes<E>>(bits >> K * each)) & bit) != 0;
}
// Whether an operand can be taken vector by vector. E is the size of the instruction's type.
template <class T, unsigned E, class O>
inline constexpr bool is_vector_operand = false;
template <class T, unsigned E>
inline constexpr bool is_vector_operand<T, E, Lanes<E>> = sizeof(T) == E;
template <class T, unsigned E, class W>
inline constexpr bool is_vector_operand<T, E, Uniform<W>> =
    sizeof(T) == sizeof(W) && (sizeof(T) == E || (sizeof(T) < E && std::is_unsigned_v<T>));
template <unsigned E>
inline constexpr bool is_vector_operand<void, E, Predicate> = E >= 4;
template <class T, unsigned E, bool Masked>
inline constexpr bool is_vector_operand<T, E, LanesOutput<Masked, E>> = sizeof(T) == E &&
                                                                        (!Masked || E >= 4);
template <unsigned E, bool Masked>
inline constexpr bool is_vector_operand<void, E, PredicateOutput<Masked>> = E >= 4;

template <class T, unsigned E, unsigned K>
CUPOLA_INLINE auto vector_operand(const Lanes<E>& o) {
    return VectorOfLanes<T, E>(o.v[K]);
}
// Adds integers: adding a float to zero would change a negative zero and a signaling NaN.
template <class T, unsigned E, unsigned K, class W>
CUPOLA_INLINE auto vector_operand(const Uniform<W>& o) {
    return VectorOfLanes<T, E>(VectorOfLanes<Bytes<E>, E>{} + Bytes<E>{o.value});
}
template <class T, unsigned E, unsigned K>
CUPOLA_INLINE auto vector_operand(const Predicate& o) {
    if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>)
        return MaskBits{o.bits >> K * (Lanes<E>::size / E)};
    else
        return expand_mask<E, K>(o.bits);
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
            to.v[K] = typename Lanes<E>::Vector(expand_mask<E, K>(mask) ? now : old);
    } else {
        to.v[K] = typename Lanes<E>::Vector(made);
    }
}
template <class Sem, class M, bool Masked, unsigned K, unsigned E, class D, class... T, class... O>
CUPOLA_INLINE void run_vector(std::uint32_t mask, Lanes<E>& to, Types<D, T...>, const O&... from) {
    VectorOfLanes<D, E> made;
    Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
    write_vector<Masked, K>(mask, to, made);
}
template <class Sem, class M, unsigned E, unsigned K, class... T, class... O>
CUPOLA_INLINE std::uint32_t run_predicate_vector(Types<T...>, const O&... from) {
    std::uint32_t bits;
    if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>) {
        MaskBits made;
        Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
        bits = made.of;
    } else {
        VectorOfLanes<std::conditional_t<E == 8, std::int64_t, std::int32_t>, E> made;
        Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
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
    write_bits(as_output<Masked>(to), mask,
               (run_predicate_vector<Sem, M, E, K>(Types<T...>(), from...) | ...));
}

// ---- mixed 32-bit and 64-bit operands -------------------------------------------------------
// A step takes as many lanes as a vector of the wider type has, so half a vector of the narrower.

template <class T, class O>
inline constexpr bool is_mixed_operand = false;
template <class T, unsigned E>
inline constexpr bool is_mixed_operand<T, Lanes<E>> = sizeof(T) == E&& E >= 4;
template <class T, class W>
inline constexpr bool is_mixed_operand<T, Uniform<W>> = sizeof(T) == sizeof(W) && sizeof(T) >= 4;
template <class T, unsigned E, bool Masked>
inline constexpr bool is_mixed_operand<T, LanesOutput<Masked, E>> =
    sizeof(T) == E&& E >= 4 && E <= 8;

template <class T, unsigned G, unsigned K, unsigned E>
CUPOLA_INLINE auto mixed_operand(const Lanes<E>& o) {
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
CUPOLA_INLINE auto mixed_operand(const Uniform<W>& o) {
    using Words = VectorOf<W, G * sizeof(W)>;
    return VectorOf<T, G * sizeof(T)>(Words{} + o.value);
}
template <class Sem, class M, unsigned G, unsigned K, class D, class... T, class... O>
CUPOLA_INLINE auto run_mixed_vector(Types<D, T...>, const O&... from) {
    VectorOf<D, G * sizeof(D)> made;
    Sem::template lane<M>(made, mixed_operand<T, G, K>(from)...);
    return made;
}
template <class Sem, class M, bool Masked, unsigned G, std::size_t... K, unsigned E, class D,
          class... T, class... O>
CUPOLA_INLINE void run_mixed(std::uint32_t mask, std::index_sequence<K...>, Types<D, T...> types,
                             Lanes<E>& to, const O&... from) {
    if constexpr (G * E == Lanes<E>::size)
        (write_vector<Masked, K>(mask, to, run_mixed_vector<Sem, M, G, K>(types, from...)), ...);
    else
        (write_vector<Masked, K>(
             mask, to,
             joined<D, G * E>(run_mixed_vector<Sem, M, G, 2 * K>(types, from...),
                              run_mixed_vector<Sem, M, G, 2 * K + 1>(types, from...),
                              std::make_index_sequence<2 * G>())),
         ...);
}

// The first operand type that is not void: the type that a vector function is instantiated with.
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
[[gnu::noinline]] void apply_outlined(std::uint32_t mask, std::index_sequence<I...> index,
                                      const O&... operands) {
    apply_ports<Row, M>(mask, index, operands...);
}

// Without vectors. `Outlined`: calls a function that is compiled once for all uses.
template <bool Outlined, class Row, class M, std::size_t... I, class D, class... O>
CUPOLA_INLINE void apply_each_lane(std::uint32_t mask, std::index_sequence<I...> index, const D& to,
                                   const O&... from) {
    if constexpr (Outlined)
        apply_outlined<Row, M>(mask, index, to, SpilledOperand<O>(from).ref()...);
    else
        apply_ports<Row, M>(mask, index, to, from...);
}

template <bool Outlined, class Row, class M, bool Masked, std::size_t... I, class D, class... O>
CUPOLA_INLINE void apply_row(std::uint32_t mask, std::index_sequence<I...>, D& to,
                             const O&... from) {
    using First = Element<Row, 0, M>;
    using T = typename FirstType<First, Element<Row, I + 1, M>...>::type;
    using Output = std::decay_t<decltype(as_output<Masked>(to))>;
    using Sem = typename Row::Sem;
    constexpr unsigned E = sizeof(T);
    constexpr Types<First, Element<Row, I + 1, M>...> types;
    constexpr std::make_index_sequence<Lanes<E>::count> each;
    if constexpr (is_vector_operand<First, E, Output> &&
                  (is_vector_operand<Element<Row, I + 1, M>, E, O> && ...) &&
                  takes_vectors<Sem, M, T>) {
        run_vectors<Sem, M, Masked, E>(mask, each, types, to, from...);
    } else if constexpr (mixes_widths<Sem, M> && is_mixed_operand<First, Output> &&
                         (is_mixed_operand<Element<Row, I + 1, M>, O> && ...)) {
        constexpr unsigned G = vector_bytes / widest<First, Element<Row, I + 1, M>...>;
        run_mixed<Sem, M, Masked, G>(mask, each, types, to, from...);
    } else {
        constexpr std::index_sequence<0, I + 1 ...> all;
        if constexpr (std::is_copy_assignable_v<D>) {
            D made = to;
            apply_each_lane<Outlined, Row, M>(mask, all, as_output<Masked>(made), from...);
            to = made;
        } else {
            apply_each_lane<Outlined, Row, M>(mask, all, SpilledOperand<D>(to).ref(), from...);
        }
    }
}

// Applies a row's function to each lane. A masked result is written in the lanes of the mask only.
template <class Row, class M, bool Masked, class D, class... O>
CUPOLA_INLINE void apply_lanes(std::uint32_t mask, D&& to, const O&... from) {
    apply_row<false, Row, M, Masked>(mask, std::index_sequence_for<O...>(), to, from...);
}
// The same in a split kernel.
template <class Row, class M, bool Masked, class D, class... O>
CUPOLA_INLINE void apply_lanes_outlined(std::uint32_t mask, D&& to, const O&... from) {
    apply_row<true, Row, M, Masked>(mask, std::index_sequence_for<O...>(), to, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
