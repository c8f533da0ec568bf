// csrc/cpu/emitted/row_pieces.hpp - affine values over pieces of a row of a block's threads.
//
// A piece has consecutive threads of a row. It is the whole row, unless an assumption of the
// analysis fails in it, such as where a row of a picture ends. Then the piece ends there, and the
// next piece begins.
#pragma once

#include "cpu/emitted/affine.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Thread i of a piece has the first value plus i times S, if `holds` is true.
template <class V, std::int64_t S>
struct BlockAffine {
    V first, last;
    bool holds;
};
// Whether the values are monotonic as numbers of type T, so no value wraps.
template <class T, class V, std::int64_t S>
CUPOLA_INLINE bool is_monotonic(BlockAffine<V, S> affine) {
    if constexpr (S == 0)
        return true;
    else
        return S > 0 ? bit_cast<T>(affine.first) <= bit_cast<T>(affine.last)
                     : bit_cast<T>(affine.first) >= bit_cast<T>(affine.last);
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool is_low_bit_mask(BlockAffine<V, S> mask) {
    return S != 0 || is_low_bit_mask(Uniform<V>{mask.first});
}
template <class V, std::int64_t S>
CUPOLA_INLINE bool shares_bits_from(std::uint32_t n, BlockAffine<V, S> affine) {
    return S == 0 || !differs_from_bit(n, affine.first, affine.last);
}
// Ends the batch in the current thread block, of which `threads` have run.
CUPOLA_INLINE void end_block_batch(const Warp& w, std::uint32_t threads) {
    w.block->batched_threads = threads;
}

template <std::int64_t S>
CUPOLA_INLINE BlockAffine<std::uint32_t, S> thread_index_affine(std::uint32_t begin,
                                                                std::uint32_t threads) {
    const auto step = static_cast<std::uint32_t>(S);
    return {step * begin, step * (begin + threads - 1), true};
}
template <bool Last, class T>
CUPOLA_INLINE Uniform<T> endpoint(Uniform<T> o) {
    return o;
}
template <bool Last, class V, std::int64_t S>
CUPOLA_INLINE Uniform<V> endpoint(BlockAffine<V, S> affine) {
    return {Last ? affine.last : affine.first};
}
// A sum or a product of affine sources is affine, also where it wraps. The last thread of a piece
// shows whether another result is affine: the steps are small, so a source wraps at most once.
template <class Row, class M, class V, std::int64_t S, bool Widens, Proof P, class... O>
CUPOLA_INLINE BlockAffine<V, S> apply_block_affine(std::uint32_t threads, O... sources) {
    V first, last;
    apply_uniform<Row, M>(first, endpoint<false>(sources)...);
    const auto expected =
        static_cast<V>(first + static_cast<V>(static_cast<std::uint64_t>(S) * (threads - 1)));
    if constexpr (!Widens && P == Proof::linear) return {first, expected, (holds(sources) && ...)};
    apply_uniform<Row, M>(last, endpoint<true>(sources)...);
    return {first, last,
            (holds(sources) && ...) && last == expected && is_proved<P, Row, M>(sources...)};
}

// Whether a comparison has one result for all threads of a piece. One operand is uniform, so the
// first and the last thread decide. `Equality`: the relation is == or !=. Such a result is that of
// all threads if no operand passes the other.
template <class Row, class M, bool Equality, class A, class B>
CUPOLA_INLINE bool compare_piece(std::uint32_t& p, A a, B b) {
    using T = Element<Row, 1, M>;
    std::uint32_t last;
    apply_uniform<Row, M>(p, endpoint<false>(a), endpoint<false>(b));
    apply_uniform<Row, M>(last, endpoint<true>(a), endpoint<true>(b));
    bool same = p == last;
    if constexpr (Equality) {
        const T a0 = bit_cast<T>(endpoint<false>(a).value),
                a1 = bit_cast<T>(endpoint<true>(a).value),
                b0 = bit_cast<T>(endpoint<false>(b).value),
                b1 = bit_cast<T>(endpoint<true>(b).value);
        same &= (a0 < b0) == (a1 < b1) && (a0 != b0 || (a0 == a1 && b0 == b1));
    }
    return same && holds(a) && holds(b) && is_monotonic<T>(a) && is_monotonic<T>(b);
}

// ---- loops ------------------------------------------------------------------------------------

// The iterations of 32 threads in a batch. A loop with more ends the batch, since a time limit
// applies to ordinary code only.
inline constexpr std::uint32_t max_batch_iterations = 1 << 14;
// `size` threads of a piece, from thread `from` on.
template <class V, std::int64_t S>
CUPOLA_INLINE BlockAffine<V, S> of_threads(BlockAffine<V, S> affine, std::uint32_t from,
                                           std::uint32_t size) {
    const auto step = static_cast<V>(static_cast<std::uint64_t>(S));
    const V first = static_cast<V>(affine.first + static_cast<V>(step * static_cast<V>(from)));
    return {first, static_cast<V>(first + static_cast<V>(step * static_cast<V>(size - 1))), true};
}
template <class T>
CUPOLA_INLINE Uniform<T> first_value(Uniform<T> o) {
    return o;
}
template <class V, std::int64_t S>
CUPOLA_INLINE Uniform<V> first_value(BlockAffine<V, S> affine) {
    return {affine.first};
}

// ---- shorter pieces -------------------------------------------------------------------------

template <class T>
CUPOLA_INLINE Uniform<T> of_first_threads(Uniform<T> o, std::uint32_t) {
    return o;
}
template <class V, std::int64_t S>
CUPOLA_INLINE BlockAffine<V, S> of_first_threads(BlockAffine<V, S> affine, std::uint32_t threads) {
    const auto distance = static_cast<V>(static_cast<std::uint64_t>(S) * (threads - 1));
    return {affine.first, static_cast<V>(affine.first + distance), affine.holds};
}
// The largest number of threads, less than `threads`, for which `holds` is true. 0: there is none.
template <class Holds>
CUPOLA_INLINE std::uint32_t shorter_piece(std::uint32_t threads, const Holds& holds) {
    std::uint32_t valid = 0, invalid = threads;
    while (invalid - valid > 1) {
        const std::uint32_t middle = (valid + invalid) / 2;
        (holds(middle) ? valid : invalid) = middle;
    }
    return valid;
}
// The threads from the first for which the result is affine.
template <class Row, class M, class V, std::int64_t S, bool Widens, Proof P, class... O>
[[gnu::noinline]] std::uint32_t affine_threads(std::uint32_t threads, O... sources) {
    return shorter_piece(threads, [&](std::uint32_t n) {
        return apply_block_affine<Row, M, V, S, Widens, P>(n, of_first_threads(sources, n)...)
            .holds;
    });
}
// The threads from the first that have one result.
template <class Row, class M, bool Equality, class A, class B>
[[gnu::noinline]] std::uint32_t compared_threads(std::uint32_t threads, A a, B b) {
    return shorter_piece(threads, [&](std::uint32_t n) {
        std::uint32_t p;
        return compare_piece<Row, M, Equality>(p, of_first_threads(a, n), of_first_threads(b, n));
    });
}

// Expands the values of one warp, whose first thread has index `from`.
template <class V, std::int64_t S>
CUPOLA_INLINE Lanes<sizeof(V)> expand_affine(BlockAffine<V, S> affine, std::uint32_t from) {
    alignas(64) V made[lanes];
    for (unsigned i = 0; i < lanes; ++i)
        made[i] = static_cast<V>(affine.first + static_cast<V>(static_cast<std::uint64_t>(S)) *
                                                    static_cast<V>(from + i));
    Lanes<sizeof(V)> v;
    pack(made, v);
    return v;
}

}  // namespace cupola::cpu::CUPOLA_ISA
