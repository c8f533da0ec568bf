// csrc/kernels/array/reduce_strided.cuh - reductions of strided elements of any type.
#pragma once

#include "reduce_dot.cuh"

namespace cupola::arrays {

template <class C>
__device__ C reduce_anywhere(const Reduced& a, const Segment& segment, unsigned count,
                             unsigned lane) {
    constexpr int n = in_flight;
    const unsigned width = 1u << a.log_width;
    const C neutral = reduction::neutral<C>(a.joint);
    Running<C, n> running(neutral);
    for (unsigned first = lane; first < count; first += n * width) {
        unsigned long long x[n], y[n];
        C values[n], factors[n];
        if (a.reduced == 1) {
#pragma unroll
            for (int i = 0; i < n; ++i) {
                const auto at =
                    static_cast<long long>(segment.begin) + min(first + i * width, count - 1);
                x[i] = a.x + segment.at.first + at * a.reduced_x[0];
                y[i] = a.y + at * a.reduced_y[0];
            }
        }
#pragma unroll 1
        for (int i = a.reduced == 1 ? n : 0; i < n; ++i) {  // the elements rotate in registers
            // After the end the last element is loaded again, and not used.
            const unsigned long long at = segment.begin + min(first + i * width, count - 1);
            const Offsets there =
                offsets(at, a.reduced, a.reduced_lengths, a.reduced_x, a.reduced_y);
#pragma unroll
            for (int k = 0; k + 1 < n; ++k) {
                x[k] = x[k + 1];
                y[k] = y[k + 1];
            }
            x[n - 1] = a.x + segment.at.first + there.first;
            y[n - 1] = a.y + there.second;
        }
        load_several(a.x_element, x, values);
        if (a.y) load_several(a.y_element, y, factors);
        reduction::choose(a.joint, [&](auto chosen) {
#pragma unroll
            for (int i = 0; i < n; ++i) {
                C value = element_of<C>(values[i], a.truth);
                if (first + i * width >= count)
                    value = neutral;
                else if (a.y)
                    value = arithmetic::multiply::of(value, factors[i]);
                running.inner[i] = chosen.of(running.inner[i], value);
            }
        });
        running.end_step(a.joint, neutral, flush_after, first + n * width >= count);
    }
    C result{};
    reduction::choose(a.joint,
                      [&](auto chosen) { result = join<decltype(chosen)>(running.outer); });
    return result;
}

// A group of threads computes a unit of the results.
template <class C>
__device__ void reduce_strided(const Reduced& a) {
    const unsigned log_groups = 8 - a.log_width, lane = threadIdx.x & ((1u << a.log_width) - 1);
    const unsigned unit = (blockIdx.x << log_groups) + (threadIdx.x >> a.log_width);
    const bool mine = unit < a.units;
    const Segment segment(a, mine ? unit : 0);
    C value = reduce_anywhere<C>(a, segment, mine ? segment.count : 0, lane);
    value = join_group(a.joint, a.log_width, value);
    if (mine && lane == 0) finish<C>(a, unit, segment.at.second, value);
}

}  // namespace cupola::arrays
