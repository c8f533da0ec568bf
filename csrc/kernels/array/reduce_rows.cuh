// csrc/kernels/array/reduce_rows.cuh - reductions of contiguous elements.
#pragma once

#include "reduce.cuh"

namespace cupola::arrays {

// Loads the elements of a partial pack; elements after the row's end are neutral.
template <class S, int n>
__device__ void load_some(S (&values)[n], unsigned long long row, unsigned at, unsigned count,
                          S neutral) {
#pragma unroll
    for (int i = 0; i < n; ++i)
        values[i] = at + i < count ? reinterpret_cast<const S*>(row)[at + i] : neutral;
}
template <class S>
__device__ uint4 load_pack(unsigned long long row, unsigned at, unsigned count, S neutral) {
    uint4 bits{};
    if constexpr (sizeof(S) >= 4) {
        S values[row_pack / sizeof(S)];
        load_some(values, row, at, count, neutral);
        memcpy(&bits, values, sizeof bits);
    } else {
        constexpr int some = 4 / sizeof(S);
#pragma unroll 1
        for (int word = 0; word < 4; ++word) {  // the elements rotate in registers
            S values[some];
            load_some(values, row, at + word * some, count, neutral);
            bits = {bits.y, bits.z, bits.w, 0};
            memcpy(&bits.w, values, 4);
        }
    }
    return bits;
}

// Narrow integers are reduced as words, which takes fewer instructions than extracting them.
template <class Joint, class S>
constexpr bool joins_words = std::is_integral_v<S> && sizeof(S) < 4 &&
                             !std::is_same_v<Joint, reduction::multiply>;

// The sum of a word's integers and `sum`: a dot product with ones.
template <class S>
__device__ i32 add_word(u32 word, i32 sum) {
    using T = std::conditional_t<std::is_signed_v<S>, i32, u32>;  // the type of the integers
    const T all = static_cast<T>(word), before = static_cast<T>(sum);
    return sizeof(S) == 1 ? __dp4a(all, T(0x01010101), before) : __dp2a_lo(all, T(0x0101), before);
}

template <class Joint, class S>
__device__ Joined<Joint, S> join_words(uint4 bits) {
    if constexpr (std::is_same_v<Joint, reduction::add>) {
        const i32 half = add_word<S>(bits.x, add_word<S>(bits.y, 0));
        return add_word<S>(bits.z, add_word<S>(bits.w, half));
    } else {
        const u32 all = Joint::template words<S>(Joint::template words<S>(bits.x, bits.y),
                                                 Joint::template words<S>(bits.z, bits.w));
        S stored[4 / sizeof(S)];
        memcpy(stored, &all, sizeof all);
        Joined<Joint, S> values[4 / sizeof(S)];
#pragma unroll
        for (int i = 0; i < 4 / sizeof(S); ++i) values[i] = stored[i];
        return join<Joint>(values);
    }
}

// Reduces the elements of a pack.
template <class Joint, class S>
__device__ Accumulator<S> join_pack(uint4 bits, S neutral, bool truth_alone) {
    using T = Joined<Joint, S>;
    if constexpr (sizeof(S) >= 4) {
        constexpr int n = row_pack / sizeof(S);
        S stored[n];
        memcpy(stored, &bits, sizeof bits);
        T values[n];
#pragma unroll
        for (int i = 0; i < n; ++i) values[i] = element_of<T>(stored[i], truth_alone);
        return static_cast<Accumulator<S>>(join<Joint>(values));
    } else {
        if constexpr (joins_words<Joint, S>)
            if (!truth_alone) return join_words<Joint, S>(bits);
        constexpr int some = 4 / sizeof(S);
        T all = convert<T>(neutral);
#pragma unroll 1
        for (int word = 0; word < 4; ++word) {
            S stored[some];
            memcpy(stored, &bits.x, 4);
            T values[some];
#pragma unroll
            for (int i = 0; i < some; ++i) values[i] = element_of<T>(stored[i], truth_alone);
            all = Joint::of(all, join<Joint>(values));
            bits = {bits.y, bits.z, bits.w, 0};
        }
        return static_cast<Accumulator<S>>(all);
    }
}

// The part of a segment that one thread of its group reduces. Threads take packs by index, so the
// order of operations does not depend on the alignment of the row.
template <class S>
__device__ Accumulator<S> reduce_row(const Reduced& a, unsigned long long row, unsigned count,
                                     unsigned lane) {
    using A = Accumulator<S>;
    constexpr unsigned n = row_pack / sizeof(S);
    const unsigned step = n << a.log_width;
    const bool aligned = row % row_pack == 0;
    const S fill = reduction::filler<S>(a);
    const A neutral = reduction::neutral<A>(a.joint);
    Running<A, in_flight> running(neutral);
    for (unsigned at = lane * n; at < count; at += in_flight * step) {
        uint4 packs[in_flight];
        if (aligned && at + (in_flight - 1) * step + n <= count) {
#pragma unroll
            for (int i = 0; i < in_flight; ++i)
                packs[i] = __ldcs(reinterpret_cast<const uint4*>(row) + (at + i * step) / n);
        } else {
#pragma unroll 1
            for (int i = 0; i < in_flight; ++i) {
#pragma unroll
                for (int k = 0; k + 1 < in_flight; ++k) packs[k] = packs[k + 1];
                packs[in_flight - 1] = load_pack<S>(row, at + i * step, count, fill);
            }
        }
        reduction::choose(a.joint, [&](auto chosen) {
#pragma unroll
            for (int i = 0; i < in_flight; ++i)
                running.inner[i] = chosen.of(running.inner[i],
                                             join_pack<decltype(chosen)>(packs[i], fill, a.truth));
        });
        running.end_step(a.joint, neutral, flush_after, at + in_flight * step >= count);
    }
    A result{};
    reduction::choose(a.joint,
                      [&](auto chosen) { result = join<decltype(chosen)>(running.outer); });
    return result;
}

// A group of threads computes a unit of the results.
template <class S>
__device__ void reduce_rows(const Reduced& a) {
    const unsigned log_groups = 8 - a.log_width, lane = threadIdx.x & ((1u << a.log_width) - 1);
    const unsigned unit = (blockIdx.x << log_groups) + (threadIdx.x >> a.log_width);
    const bool mine = unit < a.units;
    const Segment segment(a, mine ? unit : 0);
    auto value = reduce_row<S>(a, a.x + segment.at.first + segment.begin * sizeof(S),
                               mine ? segment.count : 0, lane);
    value = join_group(a.joint, a.log_width, value);
    if (mine && lane == 0) finish<S>(a, unit, segment.at.second, value);
}

}  // namespace cupola::arrays
