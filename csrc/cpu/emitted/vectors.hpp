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
        for (unsigned i = 0; i < 64 / sizeof(T); ++i) of[i] = static_cast<T>(1ull << i);
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
// Whether vectors can take one bit for each lane of E bytes.
template <unsigned E>
inline constexpr bool takes_lane_bits = E >= 2 && (blends_by_bits<Bytes<E>, Lanes<E>::size> ||
                                                   Lanes<E>::size / E <= 8 * E);
// Whether an operand can be taken vector by vector. E is the size of the instruction's type.
template <class T, unsigned E, class O>
inline constexpr bool is_vector_operand = false;
template <class T, unsigned E>
inline constexpr bool is_vector_operand<T, E, Lanes<E>> = sizeof(T) == E;
template <class T, unsigned E, class W>
inline constexpr bool is_vector_operand<T, E, Uniform<W>> =
    sizeof(T) == sizeof(W) && (sizeof(T) == E || (sizeof(T) < E && std::is_unsigned_v<T>));
template <unsigned E>
inline constexpr bool is_vector_operand<void, E, Predicate> = takes_lane_bits<E>;
template <class T, unsigned E, bool Masked>
inline constexpr bool is_vector_operand<T, E, LanesOutput<Masked, E>> = sizeof(T) == E &&
                                                                        (!Masked ||
                                                                         takes_lane_bits<E>);
template <unsigned E, bool Masked>
inline constexpr bool is_vector_operand<void, E, PredicateOutput<Masked>> = E >= 2;

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
// Writes the active lanes.
template <unsigned E, std::size_t... K>
CUPOLA_INLINE void merge_vectors(std::index_sequence<K...>, const Lanes<E>& made,
                                 std::uint32_t mask, Lanes<E>& v) {
    (write_vector<true, K>(mask, v, made.v[K]), ...);
}
template <class T>
CUPOLA_INLINE void merge_masked(const Lanes<sizeof(T)>& made, std::uint32_t mask,
                                Lanes<sizeof(T)>& v) {
    if constexpr (takes_lane_bits<sizeof(T)>)
        return merge_vectors(typename Lanes<sizeof(T)>::Each(), made, mask, v);
    alignas(64) T x[lanes], old[lanes], now[lanes];
    unpack(made, x);
    unpack(v, old);
    select(mask, x, old, now);
    pack(now, v);
}
// For registers of f32.
template <std::size_t... K>
CUPOLA_INLINE void make_nans_canonical(std::index_sequence<K...>, std::uint32_t mask, Lanes<4>& v) {
    Lanes<4> made;
    ((made.v[K] = Lanes<4>::Vector(canonical(VectorOfLanes<float, 4>(v.v[K])))), ...);
    merge_masked<std::uint32_t>(made, mask, v);
}
CUPOLA_INLINE void make_nans_canonical(std::uint32_t mask, Lanes<4>& v) {
    make_nans_canonical(Lanes<4>::Each(), mask, v);
}
template <class Sem, class M, bool Masked, unsigned K, unsigned E, class D, class... T, class... O>
CUPOLA_INLINE void run_vector(std::uint32_t mask, Lanes<E>& to, Types<D, T...>, const O&... from) {
    VectorOfLanes<D, E> made;
    Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
    write_vector<Masked, K>(mask, to, made);
}
// A comparison of vector K: bits, or a vector of 0 and -1.
template <class Sem, class M, unsigned E, unsigned K, class... T, class... O>
CUPOLA_INLINE auto compared_vector(Types<T...>, const O&... from) {
    if constexpr (blends_by_bits<Bytes<E>, Lanes<E>::size>) {
        MaskBits made;
        Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
        return made;
    } else {
        using Sign = std::conditional_t<E == 8, std::int64_t,
                                        std::conditional_t<E == 4, std::int32_t, std::int16_t>>;
        VectorOfLanes<Sign, E> made;
        Sem::template lane<M>(made, vector_operand<T, E, K>(from)...);
        return made;
    }
}
CUPOLA_INLINE std::uint32_t lane_bits_of(MaskBits made) { return made.of; }
template <class V>
CUPOLA_INLINE std::uint32_t lane_bits_of(V made) {
    return signs(made);
}
template <class Sem, class M, unsigned E, std::size_t... K, class Types, class... O>
CUPOLA_INLINE std::uint32_t run_predicate_vectors(std::index_sequence<K...>, Types types,
                                                  const O&... from) {
#if defined(__AVX2__)
    if constexpr (E == 2 && Lanes<E>::size == 32)
        return signs(compared_vector<Sem, M, E, K>(types, from...)...);
#endif
    return (
        (lane_bits_of(compared_vector<Sem, M, E, K>(types, from...)) << K * Lanes<E>::size / E) |
        ...);
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
    write_bits(
        as_output<Masked>(to), mask,
        run_predicate_vectors<Sem, M, E>(std::index_sequence<K...>(), Types<T...>(), from...));
}

// ---- operands of several widths -------------------------------------------------------------
// A step takes as many lanes as a vector of the widest type has, so a part of a vector of narrower
// types. Narrow floats are as wide as the floats that they compute in.

template <class T, unsigned G>
struct LaneVectorOf {
    using type = VectorOf<T, G * sizeof(T)>;
    static constexpr unsigned width = sizeof(T);
};
template <unsigned G>
struct LaneVectorOf<Half, G> {
    using type = ShortVector<Half, G>;
    static constexpr unsigned width = 4;
};
template <unsigned G>
struct LaneVectorOf<BFloat16, G> {
    using type = ShortVector<BFloat16, G>;
    static constexpr unsigned width = 4;
};
template <class T, unsigned G>
struct LaneVectorOf<Pair<T>, G> {
    using type = ShortVector<T, 2 * G>;
    static constexpr unsigned width = 8;
};
template <class T, unsigned G>
using LaneVector = typename LaneVectorOf<T, G>::type;

// Lanes in a step of operands of these types.
template <class... T>
inline constexpr unsigned lanes_in_step = [] {
    unsigned widest = 1;
    ((widest = LaneVectorOf<T, 1>::width > widest ? LaneVectorOf<T, 1>::width : widest), ...);
    return vector_bytes / widest < lanes ? vector_bytes / widest : lanes;
}();

template <class T, class O>
inline constexpr bool is_mixed_operand = false;
template <class T, unsigned E>
inline constexpr bool is_mixed_operand<T, Lanes<E>> = sizeof(T) == E&& E <= 8;
template <class T, class W>
inline constexpr bool is_mixed_operand<T, Uniform<W>> = sizeof(T) == sizeof(W);
template <class T, unsigned E, bool Masked>
inline constexpr bool is_mixed_operand<T, LanesOutput<Masked, E>> = sizeof(T) == E&& E <= 8;

template <class T, unsigned G, unsigned K, unsigned E>
CUPOLA_INLINE auto mixed_operand(const Lanes<E>& o) {
    constexpr unsigned parts = Lanes<E>::size / (G * E);
    return bit_cast<LaneVector<T, G>>(part_of<K % parts, G * E>(o.v[K / parts]));
}
template <class T, unsigned G, unsigned K, class W>
CUPOLA_INLINE auto mixed_operand(const Uniform<W>& o) {
    return bit_cast<LaneVector<T, G>>(VectorOf<W, G * sizeof(W)>{} + o.value);
}
template <class Sem, class M, unsigned G, unsigned K, class D, class... T, class... O>
CUPOLA_INLINE auto run_mixed_vector(Types<D, T...>, const O&... from) {
    LaneVector<D, G> made;
    Sem::template lane<M>(made, mixed_operand<T, G, K>(from)...);
    return bit_cast<VectorOf<std::uint8_t, sizeof made>>(made);
}
// `Count` steps from step K on, whose results one vector holds.
template <class Sem, class M, unsigned G, unsigned K, unsigned Count, class Types, class... O>
CUPOLA_INLINE auto run_mixed_vectors(Types types, const O&... from) {
    if constexpr (Count == 1) {
        return run_mixed_vector<Sem, M, G, K>(types, from...);
    } else {
        const auto low = run_mixed_vectors<Sem, M, G, K, Count / 2>(types, from...);
        const auto high = run_mixed_vectors<Sem, M, G, K + Count / 2, Count / 2>(types, from...);
        return joined<std::uint8_t, sizeof low>(low, high,
                                                std::make_index_sequence<2 * sizeof low>());
    }
}
template <class Sem, class M, bool Masked, unsigned G, std::size_t... K, unsigned E, class Types,
          class... O>
CUPOLA_INLINE void run_mixed(std::uint32_t mask, std::index_sequence<K...>, Types types,
                             Lanes<E>& to, const O&... from) {
    constexpr unsigned count = Lanes<E>::size / (G * E);
    if constexpr (Masked && !takes_lane_bits<E>) {
        Lanes<E> made;
        ((made.v[K] = run_mixed_vectors<Sem, M, G, K * count, count>(types, from...)), ...);
        merge_masked<Bytes<E>>(made, mask, to);
    } else {
        (write_vector<Masked, K>(mask, to,
                                 run_mixed_vectors<Sem, M, G, K * count, count>(types, from...)),
         ...);
    }
}

// mov between a register and a vector of its parts, the lowest first.
struct PackParts {
    template <class M, class D, class S, class... More>
    static void lane(D& d, S part, More... more) {
        d = converted<D>(part);
        if constexpr (sizeof...(More) != 0) {
            D above;
            lane<M>(above, more...);
            d |= above << 8 * sizeof(Each<S>);
        }
    }
};
template <unsigned N>
struct UnpackPart {
    template <class M, class D, class S>
    static void lane(D& d, S whole) {
        d = converted<D>(whole >> 8 * N * sizeof(Each<D>));
    }
};
template <bool Masked, unsigned E, class... O>
CUPOLA_INLINE void pack_parts(std::uint32_t mask, Lanes<E>& to, const O&... parts) {
    using T = Types<Bytes<E>, OperandWord<O>...>;
    run_mixed<PackParts, void, Masked, lanes_in_step<Bytes<E>>>(
        mask, std::make_index_sequence<Lanes<E>::count>(), T(), to, parts...);
}
template <unsigned N, bool Masked, unsigned E, class O>
CUPOLA_INLINE void unpack_part(std::uint32_t mask, Lanes<E>& to, const O& whole) {
    using T = Types<Bytes<E>, OperandWord<O>>;
    run_mixed<UnpackPart<N>, void, Masked, lanes_in_step<OperandWord<O>>>(
        mask, std::make_index_sequence<Lanes<E>::count>(), T(), to, whole);
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

template <class Row, class M, std::size_t... I, class... O>
[[gnu::noinline]] void apply_outlined(std::uint32_t mask, std::index_sequence<I...> index,
                                      const O&... operands) {
    apply_ports<Row, M>(mask, index, operands...);
}

// Runs the lanes without vectors. `Outlined`: calls a function that is compiled once for all uses.
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
        constexpr unsigned G = lanes_in_step<First, Element<Row, I + 1, M>...>;
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
// apply_lanes for split kernels.
template <class Row, class M, bool Masked, class D, class... O>
CUPOLA_INLINE void apply_lanes_outlined(std::uint32_t mask, D&& to, const O&... from) {
    apply_row<true, Row, M, Masked>(mask, std::index_sequence_for<O...>(), to, from...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
