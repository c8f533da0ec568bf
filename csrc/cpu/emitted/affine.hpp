// csrc/cpu/emitted/affine.hpp - affine values of a warp, as scalars.
//
// analysis/find_affine.cpp finds which values are likely to be affine. Emitted code tests at run
// time whether they are.
#pragma once

#include "cpu/analysis/proof.hpp"
#include "cpu/emitted/vectors.hpp"

namespace cupola::cpu::CUPOLA_ISA {

using compiler::Proof;

// Lane i of each half warp has the first value of that half, plus i times S, if `holds` is true.
template <class V, std::int64_t S>
struct Affine {
    V low, high;  // values of lanes 0 and 16
    bool holds;
};
template <class V, std::int64_t S>
struct LaneOffsets {
    alignas(64) V of[lanes] = {};
    constexpr LaneOffsets() {
        for (unsigned i = 0; i < lanes; ++i)
            of[i] = static_cast<V>(static_cast<std::uint64_t>(S) * (i % (lanes / 2)));
    }
};
template <class V, std::int64_t S>
inline constexpr LaneOffsets<V, S> lane_offsets{};

// All lanes have one value, if `holds` is true.
template <class V>
struct WarpUniform {
    V value;
    bool holds;
};

// The value of a half warp's first lane, computed from the value of another lane.
template <std::int64_t S, class V>
CUPOLA_INLINE V value_of_first(const V* x, unsigned lane, unsigned first) {
    const std::int64_t steps = std::int64_t{first} - lane;
    return static_cast<V>(x[lane] + static_cast<V>(static_cast<std::uint64_t>(S * steps)));
}
template <class V, std::int64_t S, unsigned E, unsigned K>
CUPOLA_INLINE auto expected_vector(V low, V high) {
    VectorOfLanes<V, E> expected;
    __builtin_memcpy(&expected, lane_offsets<V, S>.of + K * (sizeof expected / E), sizeof expected);
    return expected + (Lanes<E>::count == 1 || K < Lanes<E>::count / 2 ? low : high);
}
// A half warp without active lanes continues the other half. Narrow values are not matched.
template <std::int64_t S, unsigned E, std::size_t... K>
CUPOLA_INLINE Affine<Bytes<E>, S> match_active_lanes(const Lanes<E>& v, std::uint32_t mask,
                                                     std::index_sequence<K...>) {
    using V = Bytes<E>;
    using Wide = VectorOfLanes<V, E>;
    if constexpr (E < 4) {
        return {0, 0, false};
    } else {
        alignas(64) V x[lanes];
        unpack(v, x);
        const auto first_of = [mask](std::uint32_t half_warp) {
            return static_cast<unsigned>(__builtin_ctz(mask & half_warp ? mask & half_warp : mask));
        };
        const V low = value_of_first<S>(x, first_of(0xffff), 0),
                high = value_of_first<S>(x, first_of(0xffff0000), lanes / 2);
        Wide off = {};
        ((off |=
          (Wide(v.v[K]) ^ expected_vector<V, S, E, K>(low, high)) & Wide(expand_mask<E, K>(mask))),
         ...);
        return {low, high, is_zero(off)};
    }
}

// Tests the active lanes for affine values of step S.
template <std::int64_t S, unsigned E, std::size_t... K>
CUPOLA_INLINE Affine<Bytes<E>, S> match_lanes(const Lanes<E>& v, std::uint32_t mask,
                                              std::index_sequence<K...> each) {
    using V = Bytes<E>;
    using Wide = VectorOfLanes<V, E>;
    constexpr unsigned middle = Lanes<E>::count / 2;
    static_assert(middle != 0 || S == 0);
    if (mask != all_lanes) return match_active_lanes<S>(v, mask, each);
    const V low = Wide(v.v[0])[0], high = Wide(v.v[middle])[0];
    Wide off = {};
    ((off |= Wide(v.v[K]) ^ expected_vector<V, S, E, K>(low, high)), ...);
    return {low, high, is_zero(off)};
}
template <std::int64_t S, unsigned E>
CUPOLA_INLINE Affine<Bytes<E>, S> match_affine(const Lanes<E>& v, std::uint32_t mask) {
    return match_lanes<S>(v, mask, std::make_index_sequence<Lanes<E>::count>());
}
template <unsigned E>
CUPOLA_INLINE WarpUniform<Bytes<E>> match_uniform(const Lanes<E>& v, std::uint32_t mask) {
    const Affine<Bytes<E>, 0> halves = match_affine<0>(v, mask);
    return {halves.low, halves.holds && halves.low == halves.high};
}

// The test of these values was made when the launch began.
template <std::int64_t S>
CUPOLA_INLINE Affine<std::uint32_t, S> thread_affine(const ThreadAffine& affine) {
    return {affine.low, affine.high, affine.holds};
}

// ---- affine results -----------------------------------------------------------------------

// O is Uniform or WarpUniform.
template <unsigned Lane, template <class> class O, class V>
CUPOLA_INLINE Uniform<V> value_at(O<V> o) {
    return {o.value};
}
template <unsigned Lane, class V, std::int64_t S>
CUPOLA_INLINE Uniform<V> value_at(Affine<V, S> affine) {
    constexpr auto off = static_cast<V>(static_cast<std::uint64_t>(S) * (Lane % (lanes / 2)));
    return {static_cast<V>((Lane < lanes / 2 ? affine.low : affine.high) + off)};
}
template <class T>
CUPOLA_INLINE bool holds(Uniform<T>) {
    return true;
}
template <class O>
CUPOLA_INLINE bool holds(O affine) {
    return affine.holds;
}
template <class O>
inline constexpr bool is_uniform = false;
template <template <class> class O, class V>
inline constexpr bool is_uniform<O<V>> = true;

// Whether the lanes of each half warp are monotonic as numbers of type T, so no value wraps between
// them.
template <class T, template <class> class O, class V>
CUPOLA_INLINE bool is_monotonic(O<V>) {
    return true;
}
template <class T, class V, std::int64_t S>
CUPOLA_INLINE bool is_monotonic(Affine<V, S> affine) {
    const auto rises = [](Uniform<V> first, Uniform<V> last) {
        return bit_cast<T>(first.value) <= bit_cast<T>(last.value);
    };
    if constexpr (S == 0)
        return true;
    else
        return (S > 0) == rises(value_at<0>(affine), value_at<lanes / 2 - 1>(affine)) &&
               (S > 0) == rises(value_at<lanes / 2>(affine), value_at<lanes - 1>(affine));
}

template <template <class> class O, class V>
CUPOLA_INLINE bool is_low_bit_mask(O<V> mask) {
    return (mask.value & (mask.value + 1)) == 0;
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool is_low_bit_mask(Affine<V, S> mask) {
    return S != 0 || (mask.low == mask.high && is_low_bit_mask(Uniform<V>{mask.low}));
}
// Whether all lanes agree in the bits from bit `n` on. Steps are small, so no source wraps fully.
template <template <class> class O, class V>
CUPOLA_INLINE bool shares_bits_from(std::uint32_t, O<V>) {
    return true;
}
template <class V>
CUPOLA_INLINE bool differs_from_bit(std::uint32_t n, V first, V last) {
    return n < 8 * sizeof(V) && ((first ^ last) >> n) != 0;
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool shares_bits_from(std::uint32_t n, Affine<V, S> affine) {
    const auto last = static_cast<V>(static_cast<std::uint64_t>(S) * (lanes / 2 - 1));
    return S == 0 || (!differs_from_bit(n, affine.low, static_cast<V>(affine.low + last)) &&
                      !differs_from_bit(n, affine.high, static_cast<V>(affine.high + last)));
}
// Whether inserted bits stay in their field, and whether the field hides no bits that differ.
template <unsigned Bytes, class A, class B, class T>
CUPOLA_INLINE bool keeps_field(A inserted, B around, Uniform<T> begin, Uniform<T> length) {
    return (begin.value + length.value >= 8 * Bytes || shares_bits_from(length.value, inserted)) &&
           shares_bits_from(begin.value, around);
}
// The tests that a Proof needs besides the ends of the half warps. A divergent affine source is no
// mask.
template <Proof P, class Row, class M, class... O>
CUPOLA_INLINE bool is_proved(O... sources) {
    if constexpr (P == Proof::endpoints)
        return (is_monotonic<Element<Row, 1, M>>(sources) && ...);
    else if constexpr (P == Proof::low_bits)
        return (is_low_bit_mask(sources) && ...);
    else if constexpr (P == Proof::field)
        return keeps_field<sizeof(Element<Row, 0, M>)>(sources...);
    else
        return true;
}

// Applies the row's function to the first lane of each half warp. A result that is wider than its
// sources is also computed for the last lanes: a source that wraps is affine, but its result is
// not. A result whose proof compares both ends is also computed for the last lanes.
template <class Row, class M, class V, std::int64_t S, bool Widens, Proof P, class... O>
CUPOLA_INLINE Affine<V, S> apply_halves(O... sources) {
    V first, second;
    apply_uniform<Row, M>(first, value_at<0>(sources)...);
    apply_uniform<Row, M>(second, value_at<lanes / 2>(sources)...);
    Affine<V, S> made = {first, second, (holds(sources) && ...)};
    if constexpr (Widens || (P != Proof::linear && P != Proof::uniform)) {
        V low, high;
        apply_uniform<Row, M>(low, value_at<lanes / 2 - 1>(sources)...);
        apply_uniform<Row, M>(high, value_at<lanes - 1>(sources)...);
        made.holds &= (low == value_at<lanes / 2 - 1>(made).value) &
                      (high == value_at<lanes - 1>(made).value) & is_proved<P, Row, M>(sources...);
    }
    return made;
}
// Uniform sources have a uniform result.
template <class Row, class M, class V, std::int64_t S, bool Widens, Proof P, class... O>
CUPOLA_INLINE auto apply_affine(O... sources) {
    if constexpr ((is_uniform<O> && ...)) {
        static_assert(S == 0);
        WarpUniform<V> made = {V{}, (holds(sources) && ...)};
        apply_uniform<Row, M>(made.value, value_at<0>(sources)...);
        return made;
    } else {
        return apply_halves<Row, M, V, S, Widens, P>(sources...);
    }
}

template <class V, std::int64_t S, std::size_t... K>
CUPOLA_INLINE void expand_halves(std::index_sequence<K...>, Affine<V, S> affine,
                                 Lanes<sizeof(V)>& to) {
    using L = Lanes<sizeof(V)>;
    using Wide = VectorOf<V, L::size>;
    constexpr unsigned each = L::size / sizeof(V), middle = L::count / 2;
    ((to.v[K] = typename L::Vector(read_vector<Wide>(lane_offsets<V, S>.of + K * each) +
                                   (K < middle ? affine.low : affine.high))),
     ...);
}
// Expands an affine value into a register, for the active lanes.
template <bool Masked, class V, std::int64_t S>
CUPOLA_INLINE void write_affine(std::uint32_t mask, Lanes<sizeof(V)>& to, Affine<V, S> affine) {
    Lanes<sizeof(V)> made;
    expand_halves(typename Lanes<sizeof(V)>::Each(), affine, made);
    if (Masked && mask != all_lanes) {
        alignas(64) V old[lanes], now[lanes];
        unpack(to, old), unpack(made, now);
        for (unsigned i = 0; i < lanes; ++i) old[i] = mask >> i & 1 ? now[i] : old[i];
        pack(old, to);
    } else {
        to = made;
    }
}

template <bool Masked, class V>
CUPOLA_INLINE void write_affine(std::uint32_t mask, Lanes<sizeof(V)>& to, WarpUniform<V> o) {
    write_affine<Masked>(mask, to, Affine<V, 0>{o.value, o.value, o.holds});
}

// ---- affine values in later iterations ------------------------------------------------------

template <class V, std::int64_t S>
CUPOLA_INLINE Affine<V, S> advance(Affine<V, S> affine, std::uint64_t iterations, V stride) {
    const V distance = static_cast<V>(iterations) * stride;
    return {static_cast<V>(affine.low + distance), static_cast<V>(affine.high + distance),
            affine.holds};
}

template <class V>
CUPOLA_INLINE WarpUniform<V> advance(WarpUniform<V> o, std::uint64_t iterations, V stride) {
    return {static_cast<V>(o.value + static_cast<V>(iterations) * stride), o.holds};
}

template <class T>
CUPOLA_INLINE std::uint64_t widened(Uniform<std::uint32_t> value) {
    return static_cast<std::uint64_t>(std::int64_t{bit_cast<T>(value.value)});
}
// Whether an ordered comparison has the wanted result in all lanes. The ends of the half warps
// decide. Writes the compared values to x.
template <class Row, class M, bool Wanted, class A, class B>
CUPOLA_INLINE bool all_lanes_compare(A a, B b, std::uint64_t* x) {
    using T = Element<Row, 1, M>;
    bool all = holds(a) && holds(b) && is_monotonic<T>(a) && is_monotonic<T>(b);
    const auto test = [&](auto lhs, auto rhs) {
        std::uint32_t p;
        apply_uniform<Row, M>(p, lhs, rhs);
        all &= (p != 0) == Wanted;
    };
    test(value_at<0>(a), value_at<0>(b));
    test(value_at<lanes / 2 - 1>(a), value_at<lanes / 2 - 1>(b));
    test(value_at<lanes / 2>(a), value_at<lanes / 2>(b));
    test(value_at<lanes - 1>(a), value_at<lanes - 1>(b));
    x[0] = widened<T>(value_at<0>(a)), x[1] = widened<T>(value_at<lanes / 2>(a));
    x[2] = widened<T>(value_at<0>(b)), x[3] = widened<T>(value_at<lanes / 2>(b));
    return all;
}

// Iterations that a warp runs before the next warp of the block continues, if iterations are far
// apart in memory. The next warp's data is then adjacent, so memory is read in order. An L1 cache
// has eight ways for addresses 4 KiB apart, so the prefetch distance is shorter in this mode.
inline constexpr std::uint32_t iterations_per_slice = 16, interleaved_prefetch_distance = 6;
CUPOLA_INLINE bool is_far_stride(std::uint64_t stride) { return stride + 1024 > 2048; }

// State of a batched loop for each warp: the iterations that remain while other warps run, whether
// to predict again afterwards, and the stride of each compared value.
template <unsigned Count>
struct LoopBatch {
    static constexpr unsigned warps = 1024 / lanes;
    std::uint32_t remaining[warps] = {};
    bool predict_again[warps];
    std::uint64_t strides[warps][Count];
    void save(const Warp& w, std::uint32_t iterations, bool predict) {
        remaining[w.index] = iterations, predict_again[w.index] = predict;
    }
    void restore(const Warp& w, std::uint32_t& iterations, bool& predict) {
        iterations = remaining[w.index];
        predict = iterations == 0 || predict_again[w.index];
        remaining[w.index] = 0;
    }
};
// A whole warp yields at a loop header, where the next warp may continue.
CUPOLA_INLINE void yield_at(Warp& w, const DecodedOp* head) {
    w.resume = {w.mask, head};
    w.status = Status::yielded;
}

// Predicts how many of the next iterations need no check. `at` evaluates one iteration: it returns
// whether all accesses are allowed, and writes Count values that must have constant strides. The
// last four values are those of the loop's comparison. `predict`: whether another prediction is
// useful before the loop exits.
template <unsigned Count, class At>
[[gnu::noinline]] std::uint32_t predict_iterations(const At& at, bool& predict,
                                                   std::int32_t& budget, std::int32_t cost,
                                                   std::uint64_t* strides) {
    constexpr std::uint64_t max_stride = std::uint64_t{1} << 48, min_iterations = 2,
                            max_iterations = 1 << 12;
    std::uint64_t now[Count], next[Count], last[Count];
    predict = false;
    if (!at(1, next) || !at(0, now)) return 0;
    bool valid = true;
    for (unsigned n = 0; n < Count; ++n) {
        strides[n] = next[n] - now[n];
        valid &= strides[n] + max_stride < 2 * max_stride;
    }
    if (!valid) return 0;
    std::uint64_t iterations = max_iterations;
    if (cost > 0 && static_cast<std::int64_t>(iterations) * cost >= budget)
        iterations = budget > 0 ? static_cast<std::uint64_t>((budget - 1) / cost) : 0;
    const std::uint64_t bound = iterations;
    for (unsigned n = Count - 4; n < Count - 2; ++n) {
        const auto off = static_cast<std::int64_t>(now[n] - now[n + 2]),
                   stride = static_cast<std::int64_t>(strides[n] - strides[n + 2]);
        if (stride == 0 || (off < 0) == (stride < 0)) continue;
        const std::int64_t remaining =
            ((off < 0 ? -off : off) - 1) / (stride < 0 ? -stride : stride);
        if (remaining < static_cast<std::int64_t>(iterations))
            iterations = remaining < 0 ? 0 : static_cast<std::uint64_t>(remaining);
    }
    // Something other than the comparison may end the batch, such as the end of an array. So halve
    // the count until its last iteration is valid.
    for (; iterations >= min_iterations; iterations /= 2) {
        bool linear = at(iterations, last);
        for (unsigned n = 0; n < Count; ++n) linear &= last[n] - now[n] == iterations * strides[n];
        if (!linear) continue;
        predict = iterations == bound;
        budget -= static_cast<std::int32_t>(iterations) * cost;
        return static_cast<std::uint32_t>(iterations);
    }
    return 0;
}

}  // namespace cupola::cpu::CUPOLA_ISA
