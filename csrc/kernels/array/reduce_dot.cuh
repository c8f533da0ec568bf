// csrc/kernels/array/reduce_dot.cuh - sums of products of contiguous elements.
#pragma once

#include "reduce_rows.cuh"

namespace cupola::arrays {

// x * y + sum; real numbers round once.
template <class T>
__device__ T multiply_add(T x, T y, T sum) {
    if constexpr (is_complex<T>) {
        return {fma(-x.imag, y.imag, fma(x.real, y.real, sum.real)),
                fma(x.imag, y.real, fma(x.real, y.imag, sum.imag))};
    } else if constexpr (is_real<T>) {
        return fma(x, y, sum);
    } else {
        return x * y + sum;
    }
}

// Adds the products of two packs in order.
template <class S>
__device__ Accumulator<S> multiply_packs(uint4 x, uint4 y) {
    // Products of narrow integers fit 32 bits; for wider ones the lowest 64 bits are exact.
    using T = std::conditional_t<sizeof(S) == 1, u32, Accumulator<S>>;
    constexpr int n = row_pack / sizeof(S), some = sizeof(S) >= 4 ? n : 4 / sizeof(S);
    T sum{};
#pragma unroll 1
    for (int word = 0; word < n / some; ++word) {
        S first[n], second[n];
        memcpy(first, &x, sizeof x);
        memcpy(second, &y, sizeof y);
#pragma unroll
        for (int i = 0; i < some; ++i)
            sum = multiply_add(convert<T>(first[i]), convert<T>(second[i]), sum);
        x = {x.y, x.z, x.w, 0};
        y = {y.y, y.z, y.w, 0};
    }
    return static_cast<Accumulator<S>>(sum);
}

// Packs are loaded and combined as in reduce_row().
template <class S>
__device__ Accumulator<S> multiply_rows(const Reduced& a, unsigned long long x,
                                        unsigned long long y, unsigned count, unsigned lane) {
    using A = Accumulator<S>;
    constexpr unsigned n = row_pack / sizeof(S);
    constexpr unsigned together = in_flight / 2;  // packs of each factor
    const unsigned step = n << a.log_width;
    const bool aligned = x % row_pack == 0 && y % row_pack == 0;
    Running<A, together> running{A{}};
    for (unsigned at = lane * n; at < count; at += together * step) {
        uint4 first[together], second[together];
        if (aligned && at + (together - 1) * step + n <= count) {
#pragma unroll
            for (int i = 0; i < together; ++i) {
                const unsigned pack = (at + i * step) / n;
                first[i] = __ldcs(reinterpret_cast<const uint4*>(x) + pack);
                second[i] = __ldcs(reinterpret_cast<const uint4*>(y) + pack);
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < together; ++i) {
#pragma unroll
                for (int k = 0; k + 1 < together; ++k) {
                    first[k] = first[k + 1];
                    second[k] = second[k + 1];
                }
                first[together - 1] = load_pack<S>(x, at + i * step, count, S{});
                second[together - 1] = load_pack<S>(y, at + i * step, count, S{});
            }
        }
#pragma unroll
        for (int i = 0; i < together; ++i)
            running.inner[i] =
                arithmetic::add::of(running.inner[i], multiply_packs<S>(first[i], second[i]));
        running.end_step(reductions::add, A{}, flush_after, at + together * step >= count);
    }
    return join<arithmetic::add>(running.outer);
}

// A group of threads computes a unit of the results. All results share the second factor.
template <class S>
__device__ void reduce_dot(const Reduced& a) {
    const unsigned log_groups = 8 - a.log_width, lane = threadIdx.x & ((1u << a.log_width) - 1);
    const unsigned unit = (blockIdx.x << log_groups) + (threadIdx.x >> a.log_width);
    const bool mine = unit < a.units;
    const Segment segment(a, mine ? unit : 0);
    const unsigned long long begin = segment.begin * sizeof(S);
    auto value = multiply_rows<S>(a, a.x + segment.at.first + begin, a.y + begin,
                                  mine ? segment.count : 0, lane);
    value = join_group(reductions::add, a.log_width, value);
    if (mine && lane == 0) finish<S>(a, unit, segment.at.second, value);
}

}  // namespace cupola::arrays
