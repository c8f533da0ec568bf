// csrc/kernels/array/reduce_index.cuh - the index of the smallest or largest element.
#pragma once

#include "reduce.cuh"

namespace cupola::arrays {

template <class C>
struct Found {
    C value;
    long long index;  // -1: no element yet
};

// NaN wins over every number, and among equal elements the first wins.
template <class C>
__device__ bool comes_first(const Found<C>& a, const Found<C>& b, int joint) {
    using arithmetic::at_least;
    if (a.index < 0 || b.index < 0) return b.index < 0;
    const bool no_a = arithmetic::not_a_number(a.value), no_b = arithmetic::not_a_number(b.value);
    if (no_a || no_b) return no_a && (!no_b || a.index < b.index);
    const bool above = at_least(a.value, b.value), below = at_least(b.value, a.value);
    if (above && below) return a.index < b.index;
    return joint == reductions::maximum ? above : below;
}

template <class C>
__device__ Found<C> first_of(const Found<C>& a, const Found<C>& b, int joint) {
    return comes_first(a, b, joint) ? a : b;
}

// join_group() for indices.
template <class C>
__device__ Found<C> find_in_group(int joint, int log_width, Found<C> found) {
    __shared__ Found<C> parts[reducers / 32];
    unsigned width = 1u << log_width;
#pragma unroll 1
    for (;;) {
#pragma unroll 1
        for (unsigned lanes = min(width, 32u) / 2; lanes > 0; lanes /= 2)
            found = first_of(
                found, Found<C>{shuffle(found.value, lanes), shuffle(found.index, lanes)}, joint);
        if (width <= 32) return found;
        __syncthreads();
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = found;
        __syncthreads();
        width = reducers / 32;
        found = parts[threadIdx.x % width];
    }
}

// Whether an element after all earlier ones replaces the best one.
template <class Joint, class C>
__device__ bool is_better(C next, C best) {
    using arithmetic::at_least;
    if (arithmetic::not_a_number(best)) return false;
    if (arithmetic::not_a_number(next)) return true;
    return std::is_same_v<Joint, arithmetic::maximum> ? !at_least(best, next)
                                                      : !at_least(next, best);
}

// `count` contiguous elements of the comparison type, aligned to 16 bytes and loaded 16 bytes at a
// time. Their indices start at `begin`.
template <class Joint, class C>
__device__ Found<C> find_in_row(unsigned long long row, unsigned long long begin, unsigned count,
                                unsigned lane, unsigned width) {
    constexpr unsigned n = row_pack / sizeof(C);
    const unsigned step = n * width;
    Found<C> found{C{}, -1};
    unsigned best = 0;
    const auto look = [&](C value, unsigned at) {
        const bool first = found.index < 0;
        if (!first && !is_better<Joint>(value, found.value)) return;
        found = {value, 0};
        best = at;
    };
    unsigned at = lane * n;
    for (; at + (in_flight - 1) * step + n <= count; at += in_flight * step) {
        Pack<C, n> packs[in_flight];
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
            packs[i] = load_pack<Pack<C, n>>(row + (at + i * step) * sizeof(C));
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
#pragma unroll
            for (unsigned j = 0; j < n; ++j) look(packs[i].at[j], at + i * step + j);
    }
    for (; at < count; at += step)
        for (unsigned j = at; j < min(at + n, count); ++j)
            look(reinterpret_cast<const C*>(row)[j], j);
    if (found.index == 0) found.index = static_cast<long long>(begin + best);
    return found;
}

// A group of threads computes a unit of the results. For partial results, y has the indices in the
// same order.
template <class C>
__device__ void reduce_index(const Reduced& a) {
    const unsigned log_groups = 8 - a.log_width, width = 1u << a.log_width;
    const unsigned lane = threadIdx.x & (width - 1);
    const unsigned unit = (blockIdx.x << log_groups) + (threadIdx.x >> a.log_width);
    const bool mine = unit < a.units;
    const Segment segment(a, mine ? unit : 0);
    const unsigned count = mine ? segment.count : 0;
    const auto* indices = reinterpret_cast<const long long*>(a.y);
    Found<C> found{C{}, -1};
    const unsigned long long row = a.x + segment.at.first + segment.begin * sizeof(C);
    const bool in_row = a.reduced == 1 && a.reduced_x[0] == static_cast<long long>(sizeof(C)) &&
                        !indices && a.x_element == Stored<C>::code && row % row_pack == 0;
    if (in_row)
        found = a.joint == reductions::maximum
                    ? find_in_row<arithmetic::maximum, C>(row, segment.begin, count, lane, width)
                    : find_in_row<arithmetic::minimum, C>(row, segment.begin, count, lane, width);
    for (unsigned first = in_row ? count : lane; first < count; first += in_flight * width) {
        unsigned long long at[in_flight], places[in_flight];
        C values[in_flight];
#pragma unroll
        for (int i = 0; i < in_flight; ++i) {
            // After the end the last element is repeated, which does not change the result.
            places[i] = segment.begin + min(first + i * width, count - 1);
            at[i] =
                a.x + segment.at.first +
                offsets(places[i], a.reduced, a.reduced_lengths, a.reduced_x, a.reduced_y).first;
        }
        load_several(a.x_element, at, values);
#pragma unroll
        for (int i = 0; i < in_flight; ++i) {
            const long long index = indices ? indices[segment.result * a.length + places[i]]
                                            : static_cast<long long>(places[i]);
            found = first_of(found, Found<C>{values[i], index}, a.joint);
        }
    }
    found = find_in_group(a.joint, a.log_width, found);
    if (!mine || lane != 0) return;
    if (a.out) {
        *reinterpret_cast<long long*>(a.out + segment.at.second) = found.index;
    } else {
        reinterpret_cast<C*>(a.partial)[unit] = found.value;
        reinterpret_cast<long long*>(a.indices)[unit] = found.index;
    }
}

}  // namespace cupola::arrays
