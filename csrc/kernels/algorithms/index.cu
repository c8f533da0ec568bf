// csrc/kernels/algorithms/index.cu - elements by their indices: take, put, choose.
//
// Kernels move words of 1 to 16 bytes. The host picks the widest word that divides a row, so that
// rows of small elements move in wide words.
#include "moved.cuh"

namespace cupola::algorithms {

// How an index becomes a position along an axis.
enum Mode : int { RAISE = 0, WRAP = 1, CLIP = 2, CHECKED = 3 };

// A position for an index that is out of range is 0 under RAISE; `index_check` reports it.
template <class I>
__device__ i64 position(I index, i64 size, int mode) {
    i64 place = static_cast<i64>(index);
    if (mode == CHECKED) return place;
    if (mode == CLIP) return place < 0 ? 0 : place < size ? place : size - 1;
    if (place < 0) place += size;
    if (place >= 0 && place < size) return place;
    if (mode == RAISE) return 0;
    place %= size;
    return place < 0 ? place + size : place;
}

// The three axes of a copy by indices. The strides of the other side count words, too.
struct Axes {
    i64 outer, count, inner, outer_step, count_step, inner_step;
};

template <class N>
struct Place {
    N outer, count, inner;
};

template <class N>
__device__ Place<N> place_of(N p, const Axes& axes) {
    const N inner = static_cast<N>(axes.inner), count = static_cast<N>(axes.count);
    const N row = p / inner;
    return {row / count, row % count, p % inner};
}

template <class T, class I, class N>
__device__ void take_all(const T* __restrict__ source, T* __restrict__ out,
                         const I* __restrict__ index, const Axes& axes, N total, i64 size,
                         int mode) {
#pragma unroll 1
    for (N p = first<N>(); p < total; p += threads<N>()) {
        const Place<N> at = place_of(p, axes);
        const i64 place = position(index[at.count], size, mode);
        out[p] = source[static_cast<i64>(at.outer) * axes.outer_step + place * axes.count_step +
                        static_cast<i64>(at.inner) * axes.inner_step];
    }
}

template <class T, class I>
__device__ void take(const T* __restrict__ source, T* __restrict__ out, const I* __restrict__ index,
                     Axes axes, i64 size, int mode) {
    const i64 total = axes.outer * axes.count * axes.inner;
    if (axes.outer == 1 && axes.inner == 1) {
        // Several loads in flight: the position of each depends on a load before it.
        constexpr int items = 4;
        for (i64 base = first<i64>(); base < total; base += items * threads<i64>()) {
            i64 places[items];
#pragma unroll
            for (int k = 0; k < items; k++) {
                const i64 p = base + k * threads<i64>();
                if (p < total) places[k] = position(index[p], size, mode) * axes.count_step;
            }
#pragma unroll
            for (int k = 0; k < items; k++) {
                const i64 p = base + k * threads<i64>();
                if (p < total) out[p] = source[places[k]];
            }
        }
    } else if (total < most_narrow) {
        take_all<T, I, u32>(source, out, index, axes, static_cast<u32>(total), size, mode);
    } else {
        take_all<T, I, u64>(source, out, index, axes, static_cast<u64>(total), size, mode);
    }
}

// Where several indices are equal, the last one's value is written: `winners` has its number + 1
// for each position. `places` are the positions in it, where `index` has offsets instead.
template <class T, class I, class N>
__device__ void put_all(T* target, const T* values, const I* __restrict__ index,
                        const i64* __restrict__ winners, const i64* __restrict__ places,
                        const Axes& axes, const Axes& from, N total, i64 size, int mode) {
#pragma unroll 1
    for (N p = first<N>(); p < total; p += threads<N>()) {
        const Place<N> at = place_of(p, axes);
        const i64 place = position(index[at.count], size, mode);
        if (winners) {
            const i64 slot = places ? places[at.count] : place;
            if (winners[slot] != static_cast<i64>(at.count) + 1) continue;
        }
        target[static_cast<i64>(at.outer) * axes.outer_step + place * axes.count_step +
               static_cast<i64>(at.inner) * axes.inner_step] =
            values[static_cast<i64>(at.outer) * from.outer_step +
                   static_cast<i64>(at.count) * from.count_step +
                   static_cast<i64>(at.inner) * from.inner_step];
    }
}

template <class I>
__device__ void find_winners(const I* __restrict__ index, i64* winners, i64 n, i64 size, int mode) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>())
        atomicMax(reinterpret_cast<long long*>(winners) + position(index[j], size, mode),
                  static_cast<long long>(j) + 1);
}

// The number of the first index that is out of range; `bad` begins with all bits set.
template <class I>
__device__ void check(const I* __restrict__ index, i64 n, i64 size, u64* bad) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>()) {
        const i64 place = static_cast<i64>(index[j]);
        if (place < -size || place >= size)
            atomicMin(reinterpret_cast<unsigned long long*>(bad),
                      static_cast<unsigned long long>(j));
    }
}

// Adds an index array's part of offsets, for elements that several arrays index.
template <class I>
__device__ void add_offsets(const I* __restrict__ index, i64* offsets, i64 n, i64 size, i64 step,
                            int begins) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>()) {
        const i64 part = position(index[j], size, RAISE) * step;
        offsets[j] = begins ? part : offsets[j] + part;
    }
}

// Offsets in a contiguous array of (outer, size, inner) for indices of (outer, count, inner).
template <class I>
__device__ void along_axis(const I* __restrict__ index, i64* offsets, i64 outer, i64 count,
                           i64 inner, i64 size) {
    const i64 total = outer * count * inner;
#pragma unroll 1
    for (i64 p = first<i64>(); p < total; p += threads<i64>()) {
        const i64 row = p / inner / count;
        offsets[p] = (row * size + position(index[p], size, RAISE)) * inner + p % inner;
    }
}

// `group` words share a condition, and a single element of `period` words is repeated where a step
// is 0. Without y, words whose condition is false keep what `out` has.
template <class T>
__device__ void choose(const std::uint8_t* __restrict__ condition, const T* x, const T* y, T* out,
                       i64 n, i64 group, i64 period, int condition_step, int x_step, int y_step) {
#pragma unroll 1
    for (i64 p = first<i64>(); p < n; p += threads<i64>()) {
        const i64 repeated = period == 1 ? 0 : p % period;
        const i64 at = !condition_step ? 0 : group == 1 ? p : p / group;
        if (condition[at])
            out[p] = x[x_step ? p : repeated];
        else if (y)
            out[p] = y[y_step ? p : repeated];
    }
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_INDEXED(bits, T, I, suffix)                                                        \
    extern "C" __global__ void index_take_##bits##_##suffix(                                      \
        const T* source, T* out, const I* index, i64 outer, i64 count, i64 inner, i64 outer_step, \
        i64 count_step, i64 inner_step, i64 size, int mode) {                                     \
        take<T, I>(source, out, index, {outer, count, inner, outer_step, count_step, inner_step}, \
                   size, mode);                                                                   \
    }                                                                                             \
    extern "C" __global__ void index_put_##bits##_##suffix(                                       \
        T* target, const T* values, const I* index, const i64* winners, const i64* places,        \
        i64 outer, i64 count, i64 inner, i64 outer_step, i64 count_step, i64 inner_step,          \
        i64 from_outer, i64 from_count, i64 from_inner, i64 size, int mode) {                     \
        const Axes axes{outer, count, inner, outer_step, count_step, inner_step};                 \
        const Axes from{outer, count, inner, from_outer, from_count, from_inner};                 \
        const i64 total = outer * count * inner;                                                  \
        if (total < most_narrow)                                                                  \
            put_all<T, I, u32>(target, values, index, winners, places, axes, from,                \
                               static_cast<u32>(total), size, mode);                              \
        else                                                                                      \
            put_all<T, I, u64>(target, values, index, winners, places, axes, from,                \
                               static_cast<u64>(total), size, mode);                              \
    }

#define CUPOLA_MOVED(bits, T)                                                              \
    CUPOLA_INDEXED(bits, T, i32, i32)                                                      \
    CUPOLA_INDEXED(bits, T, i64, i64)                                                      \
    extern "C" __global__ void index_choose_##bits(                                        \
        const std::uint8_t* condition, const T* x, const T* y, T* out, i64 n, i64 group,   \
        i64 period, int condition_step, int x_step, int y_step) {                          \
        choose<T>(condition, x, y, out, n, group, period, condition_step, x_step, y_step); \
    }
CUPOLA_WORDS(CUPOLA_MOVED)

#define CUPOLA_INDICES(I, suffix)                                                                \
    extern "C" __global__ void index_check_##suffix(const I* index, u64* bad, i64 n, i64 size) { \
        check<I>(index, n, size, bad);                                                           \
    }                                                                                            \
    extern "C" __global__ void index_winners_##suffix(const I* index, i64* winners, i64 n,       \
                                                      i64 size, int mode) {                      \
        find_winners<I>(index, winners, n, size, mode);                                          \
    }                                                                                            \
    extern "C" __global__ void index_offsets_##suffix(const I* index, i64* offsets, i64 n,       \
                                                      i64 size, i64 step, int begins) {          \
        add_offsets<I>(index, offsets, n, size, step, begins);                                   \
    }                                                                                            \
    extern "C" __global__ void index_along_##suffix(const I* index, i64* offsets, i64 outer,     \
                                                    i64 count, i64 inner, i64 size) {            \
        along_axis<I>(index, offsets, outer, count, inner, size);                                \
    }
CUPOLA_INDICES(i32, i32)
CUPOLA_INDICES(i64, i64)
