// csrc/kernels/algorithms/index.cu - elements by their indices: take, put, choose, triangle.
//
// Kernels move words of 1 to 16 bytes. The host picks the widest word that divides a row, so that
// rows of small elements move in wide words.
#include <cstring>

#include "../constants.h"
#include "moved.cuh"

namespace cupola::algorithms {

using namespace constants;

// Not inlined: divisions would be most of each kernel's code.
__device__ __noinline__ u64 quotient(u64 number, u64 divisor) {
    if ((number | divisor) >> 32 == 0) return static_cast<u32>(number) / static_cast<u32>(divisor);
    return number / divisor;
}

__device__ __noinline__ i64 wrapped(i64 place, i64 size) {
    const u64 beyond = place < 0 ? ~static_cast<u64>(place) : static_cast<u64>(place);
    const i64 rest = static_cast<i64>(beyond - quotient(beyond, static_cast<u64>(size)) *
                                                   static_cast<u64>(size));
    return place < 0 ? size - 1 - rest : rest;
}

// An offset or a position of an index that is out of range.
constexpr i64 outside = INT64_MIN;

// Under RAISE, an index that is out of range is `outside`.
template <class I>
__device__ i64 position(I index, i64 size, int mode) {
    i64 place = static_cast<i64>(index);
    if (mode == CHECKED) return place;
    if (mode == CLIP) return place < 0 ? 0 : place < size ? place : size - 1;
    if (place < 0) place += size;
    if (place >= 0 && place < size) return place;
    return mode == RAISE ? outside : wrapped(place, size);
}

// Where a kernel reports an index that is out of range: page-locked memory of the host. cupola
// reads it where the host waits for the device; see arrays/index_faults.py.
struct FaultPage {
    int claimed, written;  // by the first thread that reports
    i64 index, size, site;
};

template <class I>
__device__ void report(FaultPage* page, I index, i64 size, i64 site) {
    if (atomicCAS(&page->claimed, 0, 1)) return;
    page->index = static_cast<i64>(index);
    page->size = size;
    page->site = site;
    __threadfence_system();
    *const_cast<volatile int*>(&page->written) = 1;
}

// The same, with a report of an index that is out of range.
template <class I>
__device__ i64 position(I index, i64 size, int mode, FaultPage* page, i64 site) {
    const i64 place = position(index, size, mode);
    if (mode == RAISE && place == outside) report(page, index, size, site);
    return place;
}

// The position for a read: the first one in place of one outside.
template <class I>
__device__ i64 readable(I index, i64 size, int mode, FaultPage* page, i64 site) {
    const i64 place = position(index, size, mode, page, site);
    return place == outside ? 0 : place;
}

// The three axes of a copy by indices. The strides of the other side count words, too.
struct Axes {
    i64 outer, count, inner, outer_step, count_step, inner_step;
};

struct Place {
    i64 outer, count, inner;
};

__device__ inline Place place_of(i64 p, const Axes& axes) {
    const i64 row = static_cast<i64>(quotient(p, axes.inner));
    const i64 outer = axes.outer == 1 ? 0 : static_cast<i64>(quotient(row, axes.count));
    return {outer, row - outer * axes.count, p - row * axes.inner};
}

// Elements that are `step` words apart. A thread loads 16 bytes of indices at once, and has the
// loads of two such groups in flight: each word's address depends on a load before it.
template <class T, class I>
__device__ void take_words(const T* __restrict__ source, T* __restrict__ out,
                           const I* __restrict__ index, i64 total, i64 step, i64 size, int mode,
                           FaultPage* page, i64 site) {
    constexpr int lanes = 16 / sizeof(I), groups = 2;
    constexpr int bytes = lanes * sizeof(T) < 16 ? lanes * sizeof(T) : 16;
    struct alignas(bytes) Words {
        T at[lanes];
    };
    const bool aligned =
        reinterpret_cast<u64>(index) % 16 == 0 && reinterpret_cast<u64>(out) % alignof(Words) == 0;
    const i64 whole = aligned ? total / lanes : 0;
#pragma unroll 1
    for (i64 base = first<i64>(); base < whole; base += groups * threads<i64>()) {
        uint4 loaded[groups];
        Words words[groups];
#pragma unroll
        for (int k = 0; k < groups; k++) {
            const i64 group = base + k * threads<i64>();
            if (group < whole) loaded[k] = reinterpret_cast<const uint4*>(index)[group];
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            if (base + k * threads<i64>() >= whole) break;
            I indices[lanes];
            std::memcpy(indices, &loaded[k], sizeof indices);
#pragma unroll
            for (int j = 0; j < lanes; j++)
                words[k].at[j] = source[readable(indices[j], size, mode, page, site) * step];
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            const i64 group = base + k * threads<i64>();
            if (group < whole) reinterpret_cast<Words*>(out)[group] = words[k];
        }
    }
#pragma unroll 1
    for (i64 p = whole * lanes + first<i64>(); p < total; p += threads<i64>())
        out[p] = source[readable(index[p], size, mode, page, site) * step];
}

template <class T, class I>
__device__ void take(const T* __restrict__ source, T* __restrict__ out, const I* __restrict__ index,
                     const Axes& axes, i64 size, int mode, FaultPage* page, i64 site) {
    const i64 total = axes.outer * axes.count * axes.inner;
    if (axes.outer == 1 && axes.inner == 1)
        return take_words(source, out, index, total, axes.count_step, size, mode, page, site);
#pragma unroll 1
    for (i64 p = first<i64>(); p < total; p += threads<i64>()) {
        const Place at = place_of(p, axes);
        const i64 place = readable(index[at.count], size, mode, page, site);
        out[p] = source[at.outer * axes.outer_step + place * axes.count_step +
                        at.inner * axes.inner_step];
    }
}

// Where several indices are equal, the last one's value is written: `winners` has its number + 1
// for each position. `places` are the positions in it, where `index` has offsets instead.
template <class T, class I>
__device__ void put(T* target, const T* values, const I* __restrict__ index,
                    const i64* __restrict__ winners, const i64* __restrict__ places,
                    const Axes& axes, const Axes& from, i64 size, int mode, FaultPage* page,
                    i64 site) {
    const i64 total = axes.outer * axes.count * axes.inner;
#pragma unroll 1
    for (i64 p = first<i64>(); p < total; p += threads<i64>()) {
        const Place at = place_of(p, axes);
        const i64 place = position(index[at.count], size, mode, page, site);
        if (place == outside) continue;
        if (winners && winners[places ? places[at.count] : place] != at.count + 1) continue;
        target[at.outer * axes.outer_step + place * axes.count_step + at.inner * axes.inner_step] =
            values[at.outer * from.outer_step + at.count * from.count_step +
                   at.inner * from.inner_step];
    }
}

template <class I>
__device__ void find_winners(const I* __restrict__ index, i64* winners, i64 n, i64 size, int mode) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>()) {
        const i64 place = position(index[j], size, mode);
        if (place != outside)
            atomicMax(reinterpret_cast<long long*>(winners) + place, static_cast<long long>(j) + 1);
    }
}

// Reports an index that is out of range.
template <class I>
__device__ void check(const I* __restrict__ index, i64 n, i64 size, FaultPage* page, i64 site) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>())
        position(index[j], size, RAISE, page, site);
}

// Adds an index array's part of offsets, for elements that several arrays index.
template <class I>
__device__ void add_offsets(const I* __restrict__ index, i64* offsets, i64 n, i64 size, i64 step,
                            int begins, FaultPage* page, i64 site) {
#pragma unroll 1
    for (i64 j = first<i64>(); j < n; j += threads<i64>()) {
        const i64 place = position(index[j], size, RAISE, page, site);
        const i64 before = begins ? 0 : offsets[j];
        offsets[j] = place == outside || before == outside ? outside : before + place * step;
    }
}

// Offsets in a contiguous array of (outer, size, inner) for indices of (outer, count, inner).
template <class I>
__device__ void along_axis(const I* __restrict__ index, i64* offsets, i64 outer, i64 count,
                           i64 inner, i64 size, FaultPage* page, i64 site) {
    const i64 total = outer * count * inner;
    const Axes axes{outer, count, inner, 0, 0, 0};
#pragma unroll 1
    for (i64 p = first<i64>(); p < total; p += threads<i64>()) {
        const Place at = place_of(p, axes);
        const i64 place = position(index[p], size, RAISE, page, site);
        offsets[p] = place == outside ? outside : (at.outer * size + place) * inner + at.inner;
    }
}

// Adjacent words, loaded and stored as one.
template <class T, int lanes>
struct alignas(lanes * sizeof(T)) Words {
    T at[lanes];
};

template <int lanes>
__device__ bool any_of(const Words<std::uint8_t, lanes>& flags) {
    unsigned any = 0;
#pragma unroll
    for (int j = 0; j < lanes; j++) any |= flags.at[j];
    return any != 0;
}

// One condition for each word. A thread moves 16 bytes at once, and has two such groups in flight.
// Without y, words whose condition is false keep what `out` has; groups of such words are not
// loaded. Returns the number of words that were chosen so: 0 where an operand is not aligned.
template <class T>
__device__ i64 choose_groups(const std::uint8_t* __restrict__ condition, const T* x, const T* y,
                             T* out, i64 n, int x_step, int y_step) {
    constexpr int lanes = 16 / sizeof(T), groups = 2;
    using Flags = Words<std::uint8_t, lanes>;
    using Group = Words<T, lanes>;
    const bool keeps = !y;
    if (keeps) y = out, y_step = 1;
    const u64 words = reinterpret_cast<u64>(out) | (x_step ? reinterpret_cast<u64>(x) : 0) |
                      (y_step ? reinterpret_cast<u64>(y) : 0);
    if (words % 16 || reinterpret_cast<u64>(condition) % lanes) return 0;
    const i64 whole = n / lanes;
    Group xs[groups], ys[groups];
    const T one_x = x_step ? T{} : *x, one_y = y_step ? T{} : *y;
#pragma unroll
    for (int k = 0; k < groups; k++)
#pragma unroll
        for (int j = 0; j < lanes; j++) xs[k].at[j] = one_x, ys[k].at[j] = one_y;
#pragma unroll 1
    for (i64 base = first<i64>(); base < whole; base += groups * threads<i64>()) {
        Flags flags[groups];
        bool moves[groups];
#pragma unroll
        for (int k = 0; k < groups; k++) {
            const i64 group = base + k * threads<i64>();
            moves[k] = group < whole;
            if (moves[k]) flags[k] = reinterpret_cast<const Flags*>(condition)[group];
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            const i64 group = base + k * threads<i64>();
            if (keeps) moves[k] = moves[k] && any_of(flags[k]);
            if (!moves[k]) continue;
            if (x_step) xs[k] = reinterpret_cast<const Group*>(x)[group];
            if (y_step) ys[k] = reinterpret_cast<const Group*>(y)[group];
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            if (!moves[k]) continue;
            Group chosen;
#pragma unroll
            for (int j = 0; j < lanes; j++)
                chosen.at[j] = flags[k].at[j] ? xs[k].at[j] : ys[k].at[j];
            reinterpret_cast<Group*>(out)[base + k * threads<i64>()] = chosen;
        }
    }
    return whole * lanes;
}

// `group` words share a condition, and a single element of `period` words is repeated where a step
// is 0. Without y, words whose condition is false keep what `out` has.
template <class T>
__device__ void choose(const std::uint8_t* __restrict__ condition, const T* x, const T* y, T* out,
                       i64 n, i64 group, i64 period, int condition_step, int x_step, int y_step) {
    constexpr int items = 4;
    i64 begin = 0;
    if (group == 1 && period == 1 && condition_step)
        begin = choose_groups(condition, x, y, out, n, x_step, y_step);
#pragma unroll 1
    for (i64 base = begin + first<i64>(); base < n; base += items * threads<i64>()) {
        bool chosen[items];
        T words[items];
#pragma unroll
        for (int k = 0; k < items; k++) {
            const i64 p = base + k * threads<i64>();
            const i64 at = group == 1 ? p : static_cast<i64>(quotient(p, group));
            chosen[k] = p < n && condition[condition_step ? at : 0];
        }
#pragma unroll
        for (int k = 0; k < items; k++) {
            const i64 p = base + k * threads<i64>();
            const i64 one = period == 1 ? 0 : p - static_cast<i64>(quotient(p, period)) * period;
            if (chosen[k])
                words[k] = x[x_step ? p : one];
            else if (y && p < n)
                words[k] = y[y_step ? p : one];
        }
#pragma unroll
        for (int k = 0; k < items; k++) {
            const i64 p = base + k * threads<i64>();
            if (chosen[k] || (y && p < n)) out[p] = words[k];
        }
    }
}

// Matrices of `columns` words a row, an element having `period` of them. The words on one side of a
// diagonal are kept, and the others are 0.
struct Triangle {
    i64 rows, columns, period, offset;  // row r has (r + offset) * period words on the lower side
    int upper;                          // keeps the other side
};

// Groups of words. A group that is 0 is not loaded; one that is kept in place is not moved.
template <class T, int lanes>
__device__ void keep_triangle(const T* source, T* out, i64 begin, i64 end, const Triangle& of) {
    using Group = Words<T, lanes>;
    constexpr u32 all = (1u << lanes) - 1;
#pragma unroll 1
    for (i64 group = begin + first<i64>(); group < end; group += threads<i64>()) {
        const u64 line = quotient(group * lanes, of.columns);
        i64 column = group * lanes - static_cast<i64>(line) * of.columns;
        i64 row = static_cast<i64>(line);
        if (row >= of.rows) row -= static_cast<i64>(quotient(line, of.rows)) * of.rows;
        i64 edge = (row + of.offset) * of.period;
        const i64 room = of.columns - column, before = edge - column;
        u32 lower = before <= 0 ? 0 : before >= lanes ? all : (1u << before) - 1;  // a bit a word
        if (room < lanes) {  // the group has words of several rows
            lower &= (1u << room) - 1;
            column = of.columns;
#pragma unroll 1
            for (int j = static_cast<int>(room); j < lanes; j++) {
                if (column == of.columns) {
                    column = 0;
                    row = row + 1 == of.rows ? 0 : row + 1;
                    edge = (row + of.offset) * of.period;
                }
                lower |= static_cast<u32>(column++ < edge) << j;
            }
        }
        const u32 kept = of.upper ? all & ~lower : lower;
        if (kept == all && source == out) continue;
        Group moved{};
        if (kept) moved = reinterpret_cast<const Group*>(source)[group];
#pragma unroll
        for (int j = 0; j < lanes; j++)
            if (!(kept >> j & 1)) moved.at[j] = T{};
        reinterpret_cast<Group*>(out)[group] = moved;
    }
}

template <class T>
__device__ void triangle(const T* source, T* out, i64 n, const Triangle& of) {
    constexpr int lanes = 16 / sizeof(T);
    const bool aligned = (reinterpret_cast<u64>(source) | reinterpret_cast<u64>(out)) % 16 == 0;
    const i64 whole = aligned ? n / lanes : 0;
    keep_triangle<T, lanes>(source, out, 0, whole, of);
    if (lanes > 1) keep_triangle<T, 1>(source, out, whole * lanes, n, of);
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_INDEXED(bits, T, I, suffix)                                                        \
    extern "C" __global__ void index_take_##bits##_##suffix(                                      \
        const T* source, T* out, const I* index, i64 outer, i64 count, i64 inner, i64 outer_step, \
        i64 count_step, i64 inner_step, i64 size, int mode, FaultPage* page, i64 site) {          \
        take<T, I>(source, out, index, {outer, count, inner, outer_step, count_step, inner_step}, \
                   size, mode, page, site);                                                       \
    }                                                                                             \
    extern "C" __global__ void index_put_##bits##_##suffix(                                       \
        T* target, const T* values, const I* index, const i64* winners, const i64* places,        \
        i64 outer, i64 count, i64 inner, i64 outer_step, i64 count_step, i64 inner_step,          \
        i64 from_outer, i64 from_count, i64 from_inner, i64 size, int mode, FaultPage* page,      \
        i64 site) {                                                                               \
        const Axes axes{outer, count, inner, outer_step, count_step, inner_step};                 \
        const Axes from{outer, count, inner, from_outer, from_count, from_inner};                 \
        put<T, I>(target, values, index, winners, places, axes, from, size, mode, page, site);    \
    }

#define CUPOLA_MOVED(bits, T)                                                                  \
    CUPOLA_INDEXED(bits, T, i32, i32)                                                          \
    CUPOLA_INDEXED(bits, T, i64, i64)                                                          \
    extern "C" __global__ void index_choose_##bits(                                            \
        const std::uint8_t* condition, const T* x, const T* y, T* out, i64 n, i64 group,       \
        i64 period, int condition_step, int x_step, int y_step) {                              \
        choose<T>(condition, x, y, out, n, group, period, condition_step, x_step, y_step);     \
    }                                                                                          \
    extern "C" __global__ void index_triangle_##bits(const T* source, T* out, i64 n, i64 rows, \
                                                     i64 columns, i64 period, i64 offset,      \
                                                     int upper) {                              \
        triangle<T>(source, out, n, {rows, columns, period, offset, upper});                   \
    }
CUPOLA_WORDS(CUPOLA_MOVED)

#define CUPOLA_INDICES(I, suffix)                                                            \
    extern "C" __global__ void index_check_##suffix(const I* index, i64 n, i64 size,         \
                                                    FaultPage* page, i64 site) {             \
        check<I>(index, n, size, page, site);                                                \
    }                                                                                        \
    extern "C" __global__ void index_winners_##suffix(const I* index, i64* winners, i64 n,   \
                                                      i64 size, int mode) {                  \
        find_winners<I>(index, winners, n, size, mode);                                      \
    }                                                                                        \
    extern "C" __global__ void index_offsets_##suffix(const I* index, i64* offsets, i64 n,   \
                                                      i64 size, i64 step, int begins,        \
                                                      FaultPage* page, i64 site) {           \
        add_offsets<I>(index, offsets, n, size, step, begins, page, site);                   \
    }                                                                                        \
    extern "C" __global__ void index_along_##suffix(const I* index, i64* offsets, i64 outer, \
                                                    i64 count, i64 inner, i64 size,          \
                                                    FaultPage* page, i64 site) {             \
        along_axis<I>(index, offsets, outer, count, inner, size, page, site);                \
    }
CUPOLA_INDICES(i32, i32)
CUPOLA_INDICES(i64, i64)
