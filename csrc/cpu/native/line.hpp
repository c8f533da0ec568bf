// csrc/cpu/native/line.hpp - values of a warp that rise by a constant from lane to lane, as
// scalars: what line.cpp has found likely, looked at when the code runs.
#pragma once

#include "cpu/native/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

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
    Wide x[L::count], off = {};
    for (unsigned k = 0; k < L::count; ++k) __builtin_memcpy(&x[k], &v.v[k], L::size);
    const V first[2] = {x[0][0], x[middle][0]};
    for (unsigned k = 0; k < L::count; ++k) {
        Wide expected;
        __builtin_memcpy(&expected, rise<V, S>.of + k * each, L::size);
        off |= x[k] ^ (expected + first[k / middle]);
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
CUPOLA_INLINE One<T> value_at(One<T> o) {
    return o;
}
template <unsigned Lane, class V, std::int64_t S>
CUPOLA_INLINE One<V> value_at(Line<V, S> line) {
    constexpr auto off = static_cast<V>(static_cast<std::uint64_t>(S) * (Lane % (lanes / 2)));
    return {static_cast<V>((Lane < lanes / 2 ? line.low : line.high) + off)};
}
template <class T>
CUPOLA_INLINE bool holds(One<T>) {
    return true;
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool holds(Line<V, S> line) {
    return line.holds;
}

// The row's function at the halves' first lanes. Of what is wider than its sources, at their last
// ones too: a source that begins anew on the way has a line, its result has none.
template <class Row, class M, class V, std::int64_t S, bool Widens, class... O>
CUPOLA_INLINE Line<V, S> line(O... sources) {
    Line<V, S> made;
    once<Row, M>(one_out(made.low), value_at<0>(sources)...);
    once<Row, M>(one_out(made.high), value_at<lanes / 2>(sources)...);
    made.holds = (holds(sources) && ...);
    if constexpr (Widens) {
        V low, high;
        once<Row, M>(one_out(low), value_at<lanes / 2 - 1>(sources)...);
        once<Row, M>(one_out(high), value_at<lanes - 1>(sources)...);
        made.holds &= (low == value_at<lanes / 2 - 1>(made).value) &
                      (high == value_at<lanes - 1>(made).value);
    }
    return made;
}

// ---- lines over all threads of a block ------------------------------------------------------

// Thread i has the first one's value and i times S, if it holds.
template <class V, std::int64_t S>
struct Stretch {
    V first, last;
    bool holds;
};
// Of a block of one dimension.
template <std::int64_t S>
CUPOLA_INLINE Stretch<std::uint32_t, S> stretch_of_threads(std::uint32_t threads) {
    return {0, static_cast<std::uint32_t>(S) * (threads - 1), true};
}
template <bool Last, class T>
CUPOLA_INLINE One<T> end_of(One<T> o) {
    return o;
}
template <bool Last, class V, std::int64_t S>
CUPOLA_INLINE One<V> end_of(Stretch<V, S> line) {
    return {Last ? line.last : line.first};
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool holds(Stretch<V, S> line) {
    return line.holds;
}
// Steps are so small that a source begins anew once at most on the way, which shows at its end.
template <class Row, class M, class V, std::int64_t S, class... O>
CUPOLA_INLINE Stretch<V, S> stretch(std::uint32_t threads, O... sources) {
    Stretch<V, S> made;
    once<Row, M>(one_out(made.first), end_of<false>(sources)...);
    once<Row, M>(one_out(made.last), end_of<true>(sources)...);
    const auto way = static_cast<V>(static_cast<std::uint64_t>(S) * (threads - 1));
    made.holds = (holds(sources) && ...) && made.last == static_cast<V>(made.first + way);
    return made;
}

// Whether no value on the way is on another side of its end than where it began.
template <class T, class V>
CUPOLA_INLINE bool in_order(One<V>) {
    return true;
}
template <class T, class V, std::int64_t S>
CUPOLA_INLINE bool in_order(Stretch<V, S> line) {
    return S == 0 || (S > 0) == (bit_cast<T>(line.first) <= bit_cast<T>(line.last));
}
// A comparison that all threads answer alike: of lines by `ordered` relations, so that the first
// and the last one tell.
template <class Row, class M, class A, class B>
CUPOLA_INLINE bool agree(std::uint32_t& p, A a, B b) {
    using T = Element<Row, 1, M>;
    std::uint32_t last;
    once<Row, M>(bits_one(p), end_of<false>(a), end_of<false>(b));
    once<Row, M>(bits_one(last), end_of<true>(a), end_of<true>(b));
    return p == last && holds(a) && holds(b) && in_order<T>(a) && in_order<T>(b);
}

// A warp's, from one of its threads on.
template <class V, std::int64_t S>
CUPOLA_INLINE Lanes<sizeof(V)> lanes_along(Stretch<V, S> line, std::uint32_t from) {
    alignas(64) V made[lanes];
    for (unsigned i = 0; i < lanes; ++i)
        made[i] = static_cast<V>(line.first + static_cast<V>(static_cast<std::uint64_t>(S)) *
                                                  static_cast<V>(from + i));
    Lanes<sizeof(V)> v;
    collect_lanes(made, v);
    return v;
}

}  // namespace cupola::cpu::CUPOLA_ISA
