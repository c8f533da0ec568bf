// csrc/cpu/emitted/affine.hpp - values of a warp that rise by a constant from lane to lane, as
// scalars: what ir/affine.cpp has found likely, looked at when the code runs.
#pragma once

#include "cpu/emitted/lanes.hpp"
#include "cpu/ir/proof.hpp"

namespace cupola::cpu::CUPOLA_ISA {

using compiler::Proof;

// Lane i of each half has the half's first value and i times S, if it holds.
template <class V, std::int64_t S>
struct Line {
    V low, high;  // of lanes 0 and 16
    bool holds;
};
template <class V, std::int64_t S>
struct Rise {
    alignas(64) V of[lanes] = {};
    constexpr Rise() {
        for (unsigned i = 0; i < lanes; ++i)
            of[i] = static_cast<V>(static_cast<std::uint64_t>(S) * (i % (lanes / 2)));
    }
};
template <class V, std::int64_t S>
inline constexpr Rise<V, S> rise{};

// Looks for a line in all lanes, active or not.
template <std::int64_t S, unsigned E>
CUPOLA_INLINE Line<Bytes<E>, S> line_of(const Lanes<E>& v) {
    using V = Bytes<E>;
    using L = Lanes<E>;
    using Wide __attribute__((vector_size(L::size))) = V;
    constexpr unsigned each = L::size / E, middle = L::count / 2;
    static_assert(middle != 0 || S == 0);
    Wide x[L::count], off = {};
    for (unsigned k = 0; k < L::count; ++k) __builtin_memcpy(&x[k], &v.v[k], L::size);
    const V first[2] = {x[0][0], x[middle][0]};
    for (unsigned k = 0; k < L::count; ++k) {
        Wide expected;
        __builtin_memcpy(&expected, rise<V, S>.of + k * each, L::size);
        off |= x[k] ^ (expected + first[middle == 0 ? 0 : k / middle]);
    }
    return {first[0], first[1], is_zero(off)};
}

// Looked for when the launch began.
template <std::int64_t S>
CUPOLA_INLINE Line<std::uint32_t, S> thread_line(const ThreadLine& line) {
    return {line.low, line.high, line.holds};
}

// ---- lines of results ---------------------------------------------------------------------

template <unsigned Lane, class T>
CUPOLA_INLINE Uniform<T> value_at(Uniform<T> o) {
    return o;
}
template <unsigned Lane, class V, std::int64_t S>
CUPOLA_INLINE Uniform<V> value_at(Line<V, S> line) {
    constexpr auto off = static_cast<V>(static_cast<std::uint64_t>(S) * (Lane % (lanes / 2)));
    return {static_cast<V>((Lane < lanes / 2 ? line.low : line.high) + off)};
}
template <class T>
CUPOLA_INLINE bool holds(Uniform<T>) {
    return true;
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool holds(Line<V, S> line) {
    return line.holds;
}

// Whether the lanes of each half are in order as numbers of T: no value wraps between them.
template <class T, class W>
CUPOLA_INLINE bool in_order(Uniform<W>) {
    return true;
}
template <class T, class V, std::int64_t S>
CUPOLA_INLINE bool in_order(Line<V, S> line) {
    const auto rises = [](Uniform<V> first, Uniform<V> last) {
        return bit_cast<T>(first.value) <= bit_cast<T>(last.value);
    };
    if constexpr (S == 0)
        return true;
    else
        return (S > 0) == rises(value_at<0>(line), value_at<lanes / 2 - 1>(line)) &&
               (S > 0) == rises(value_at<lanes / 2>(line), value_at<lanes - 1>(line));
}

template <class T>
CUPOLA_INLINE bool is_of_low_bits(Uniform<T> mask) {
    return (mask.value & (mask.value + 1)) == 0;
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool is_of_low_bits(Line<V, S> mask) {
    return S != 0 || (mask.low == mask.high && is_of_low_bits(Uniform<V>{mask.low}));
}
// What Proof asks beside the ends; a source that rises is no mask.
template <Proof P, class Row, class M, class... O>
CUPOLA_INLINE bool is_proved(O... sources) {
    if constexpr (P == Proof::ends)
        return (in_order<Element<Row, 1, M>>(sources) && ...);
    else if constexpr (P == Proof::low_bits)
        return (is_of_low_bits(sources) && ...);
    else
        return true;
}

// The row's function at the halves' first lanes. At their last ones too for a result that is wider
// than its sources (a source that wraps has a line, its result has none), and for what only the
// ends prove.
template <class Row, class M, class V, std::int64_t S, bool Widens, Proof P, class... O>
CUPOLA_INLINE Line<V, S> line(O... sources) {
    V first, second;
    once<Row, M>(first, value_at<0>(sources)...);
    once<Row, M>(second, value_at<lanes / 2>(sources)...);
    Line<V, S> made = {first, second, (holds(sources) && ...)};
    if constexpr (Widens || P == Proof::ends || P == Proof::low_bits) {
        V low, high;
        once<Row, M>(low, value_at<lanes / 2 - 1>(sources)...);
        once<Row, M>(high, value_at<lanes - 1>(sources)...);
        made.holds &= (low == value_at<lanes / 2 - 1>(made).value) &
                      (high == value_at<lanes - 1>(made).value) & is_proved<P, Row, M>(sources...);
    }
    return made;
}

// A line's values as a register, of the lanes that run.
template <bool Masked, class V, std::int64_t S>
CUPOLA_INLINE void write_line(std::uint32_t mask, Lanes<sizeof(V)>& to, Line<V, S> line) {
    using L = Lanes<sizeof(V)>;
    using Wide __attribute__((vector_size(L::size))) = V;
    const V first[2] = {line.low, line.high};
    Lanes<sizeof(V)> made;
    for (unsigned k = 0; k < L::count; ++k) {
        Wide x;
        __builtin_memcpy(&x, rise<V, S>.of + k * (L::size / sizeof(V)), L::size);
        x += first[k / (L::count / 2)];
        __builtin_memcpy(&made.v[k], &x, L::size);
    }
    if (Masked && mask != all_lanes) {
        alignas(64) V old[lanes], now[lanes];
        spread(to, old), spread(made, now);
        for (unsigned i = 0; i < lanes; ++i) old[i] = mask >> i & 1 ? now[i] : old[i];
        pack(old, to);
    } else {
        to = made;
    }
}

// ---- lines in rounds to come ----------------------------------------------------------------

template <class V, std::int64_t S>
CUPOLA_INLINE Line<V, S> later(Line<V, S> line, std::uint64_t rounds, V rise) {
    const V way = static_cast<V>(rounds) * rise;
    return {static_cast<V>(line.low + way), static_cast<V>(line.high + way), line.holds};
}

template <class T>
CUPOLA_INLINE std::uint64_t widened(Uniform<std::uint32_t> value) {
    return static_cast<std::uint64_t>(std::int64_t{bit_cast<T>(value.value)});
}
// Whether all lanes answer an ordered comparison so, by those at the ends of the halves; x: what is
// compared, as numbers.
template <class Row, class M, bool Wanted, class A, class B>
CUPOLA_INLINE bool goes_round(A a, B b, std::uint64_t* x) {
    using T = Element<Row, 1, M>;
    bool all = holds(a) && holds(b) && in_order<T>(a) && in_order<T>(b);
    const auto ask = [&](auto left, auto right) {
        std::uint32_t p;
        once<Row, M>(p, left, right);
        all &= (p != 0) == Wanted;
    };
    ask(value_at<0>(a), value_at<0>(b));
    ask(value_at<lanes / 2 - 1>(a), value_at<lanes / 2 - 1>(b));
    ask(value_at<lanes / 2>(a), value_at<lanes / 2>(b));
    ask(value_at<lanes - 1>(a), value_at<lanes - 1>(b));
    x[0] = widened<T>(value_at<0>(a)), x[1] = widened<T>(value_at<lanes / 2>(a));
    x[2] = widened<T>(value_at<0>(b)), x[3] = widened<T>(value_at<lanes / 2>(b));
    return all;
}

// Rounds that a warp goes before the next one of the block has its turn, where they lie far apart:
// then the next warp's lie beside its own, and memory is read in order. The first cache has eight
// places for what lies 4 KiB apart, so that no more rounds than that are fetched ahead.
inline constexpr std::uint32_t turn = 16, ahead_in_turn = 6;
CUPOLA_INLINE bool is_far(std::uint64_t rise) { return rise + 1024 > 2048; }

// What is known of the rounds to come of a loop, for each warp: how many are `left` to it while
// others have their turns, whether to look again behind them, and by what they rise.
template <unsigned Count>
struct Rounds {
    static constexpr unsigned warps = 1024 / lanes;
    std::uint32_t left[warps] = {};
    bool again[warps];
    std::uint64_t by[warps][Count];
    void keep(const Warp& w, std::uint32_t rounds, bool ahead) {
        left[w.index] = rounds, again[w.index] = ahead;
    }
    void take(const Warp& w, std::uint32_t& rounds, bool& ahead) {
        rounds = left[w.index];
        ahead = rounds == 0 || again[w.index];
        left[w.index] = 0;
    }
};
// A whole warp stops at a loop's head, where the next one can go on.
CUPOLA_INLINE void pass(Warp& w, const DecodedOp* head) {
    w.resume = {w.mask, head};
    w.status = Status::yielded;
}

// How many rounds after this one are like it. `at` tells whether all is well in a round, and Count
// numbers that have to rise by the same, `by`, from round to round: the last four are what is
// compared. `ahead`: whether it is worth asking before the loop has been left.
template <unsigned Count, class At>
[[gnu::noinline]] std::uint32_t rounds_ahead(const At& at, bool& ahead, std::int32_t& budget,
                                             std::int32_t cost, std::uint64_t* by) {
    constexpr std::uint64_t far = std::uint64_t{1} << 48, few = 2, most = 1 << 12;
    std::uint64_t now[Count], next[Count], last[Count];
    ahead = false;
    if (!at(1, next) || !at(0, now)) return 0;
    bool well = true;
    for (unsigned n = 0; n < Count; ++n) {
        by[n] = next[n] - now[n];
        well &= by[n] + far < 2 * far;
    }
    if (!well) return 0;
    std::uint64_t rounds = most;
    if (cost > 0 && static_cast<std::int64_t>(rounds) * cost >= budget)
        rounds = budget > 0 ? static_cast<std::uint64_t>((budget - 1) / cost) : 0;
    const std::uint64_t bound = rounds;
    for (unsigned n = Count - 4; n < Count - 2; ++n) {
        const auto off = static_cast<std::int64_t>(now[n] - now[n + 2]),
                   rise = static_cast<std::int64_t>(by[n] - by[n + 2]);
        if (rise == 0 || (off < 0) == (rise < 0)) continue;
        const std::int64_t left = ((off < 0 ? -off : off) - 1) / (rise < 0 ? -rise : rise);
        if (left < static_cast<std::int64_t>(rounds))
            rounds = left < 0 ? 0 : static_cast<std::uint64_t>(left);
    }
    // Where it was not those compared that end it, as at an array's end: as far as possible.
    for (; rounds >= few; rounds /= 2) {
        bool alike = at(rounds, last);
        for (unsigned n = 0; n < Count; ++n) alike &= last[n] - now[n] == rounds * by[n];
        if (!alike) continue;
        ahead = rounds == bound;
        budget -= static_cast<std::int32_t>(rounds) * cost;
        return static_cast<std::uint32_t>(rounds);
    }
    return 0;
}

// ---- lines over a row of threads ------------------------------------------------------

// Thread i has the first one's value and i times S, if it holds.
template <class V, std::int64_t S>
struct BlockAffine {
    V first, last;
    bool holds;
};
// Whether no value on the way is on another side of its end than where it began.
template <class T, class V, std::int64_t S>
CUPOLA_INLINE bool in_order(BlockAffine<V, S> line) {
    if constexpr (S == 0)
        return true;
    else
        return (S > 0) == (bit_cast<T>(line.first) <= bit_cast<T>(line.last));
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool is_of_low_bits(BlockAffine<V, S> mask) {
    return S != 0 || is_of_low_bits(Uniform<V>{mask.first});
}
// A sweep ends in the block at hand, of which so many warps are done.
CUPOLA_INLINE void stop_sweep(const Warp& w, std::uint32_t warps) { w.block->swept_warps = warps; }

template <std::int64_t S>
CUPOLA_INLINE BlockAffine<std::uint32_t, S> stretch_of_threads(std::uint32_t threads) {
    return {0, static_cast<std::uint32_t>(S) * (threads - 1), true};
}
template <bool Last, class T>
CUPOLA_INLINE Uniform<T> end_of(Uniform<T> o) {
    return o;
}
template <bool Last, class V, std::int64_t S>
CUPOLA_INLINE Uniform<V> end_of(BlockAffine<V, S> line) {
    return {Last ? line.last : line.first};
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool holds(BlockAffine<V, S> line) {
    return line.holds;
}
// Steps are so small that a source begins anew once at most on the way, which shows at its end.
template <class Row, class M, class V, std::int64_t S, Proof P, class... O>
CUPOLA_INLINE BlockAffine<V, S> stretch(std::uint32_t threads, O... sources) {
    V first, last;
    once<Row, M>(first, end_of<false>(sources)...);
    once<Row, M>(last, end_of<true>(sources)...);
    const auto way = static_cast<V>(static_cast<std::uint64_t>(S) * (threads - 1));
    return {first, last,
            (holds(sources) && ...) && last == static_cast<V>(first + way) &&
                is_proved<P, Row, M>(sources...)};
}

// A comparison that all threads answer alike: of lines by `ordered` relations, so that the first
// and the last one tell.
template <class Row, class M, class A, class B>
CUPOLA_INLINE bool agree(std::uint32_t& p, A a, B b) {
    using T = Element<Row, 1, M>;
    std::uint32_t last;
    once<Row, M>(p, end_of<false>(a), end_of<false>(b));
    once<Row, M>(last, end_of<true>(a), end_of<true>(b));
    return p == last && holds(a) && holds(b) && in_order<T>(a) && in_order<T>(b);
}

// A warp's, from one of its threads on.
template <class V, std::int64_t S>
CUPOLA_INLINE Lanes<sizeof(V)> lanes_along(BlockAffine<V, S> line, std::uint32_t from) {
    alignas(64) V made[lanes];
    for (unsigned i = 0; i < lanes; ++i)
        made[i] = static_cast<V>(line.first + static_cast<V>(static_cast<std::uint64_t>(S)) *
                                                  static_cast<V>(from + i));
    Lanes<sizeof(V)> v;
    pack(made, v);
    return v;
}

}  // namespace cupola::cpu::CUPOLA_ISA
