// csrc/kernels/algorithms/index.cu - elements by their indices: take, put, choose, triangle.
//
// Kernels move words of 1 to 16 bytes. The host picks the widest word that divides a row, so that
// rows of small elements move in wide words.
#include <cstring>

#include "index_put.cuh"

namespace cupola::algorithms {

// Elements that are `step` words apart. A thread loads 16 bytes of indices at once, and has the
// loads of two such groups in flight: each word's address depends on a load before it. `along`:
// each word of (outer, count, inner) has an index of its own.
template <class T, class I>
__device__ void take_words(const T* __restrict__ source, T* __restrict__ out,
                           const I* __restrict__ index, const Axes& axes, i64 size, int mode,
                           int along, FaultPage* page, i64 site) {
    constexpr int lanes = 16 / sizeof(I), groups = 2;
    constexpr int bytes = lanes * sizeof(T) < 16 ? lanes * sizeof(T) : 16;
    struct alignas(bytes) Words {
        T at[lanes];
    };
    const i64 total = axes.outer * axes.count * axes.inner;
    const bool aligned =
        reinterpret_cast<u64>(index) % 16 == 0 && reinterpret_cast<u64>(out) % alignof(Words) == 0;
    const i64 whole = aligned ? total / lanes : 0;
    const auto word = [&](I at, const Place& line) {
        return source[line.outer * axes.outer_step + line.inner * axes.inner_step +
                      readable(at, size, mode, page, site) * axes.count_step];
    };
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
            const i64 group = base + k * threads<i64>();
            if (group >= whole) break;
            I indices[lanes];
            std::memcpy(indices, &loaded[k], sizeof indices);
            Place line = along ? place_of(group * lanes, axes) : Place{};
#pragma unroll
            for (int j = 0; j < lanes; j++) {
                words[k].at[j] = word(indices[j], line);
                if (along) line = following(line, axes);
            }
        }
#pragma unroll
        for (int k = 0; k < groups; k++) {
            const i64 group = base + k * threads<i64>();
            if (group < whole) reinterpret_cast<Words*>(out)[group] = words[k];
        }
    }
#pragma unroll 1
    for (i64 p = whole * lanes + first<i64>(); p < total; p += threads<i64>())
        out[p] = word(index[p], along ? place_of(p, axes) : Place{});
}

// Rows of words; threads share each, or each is a thread's.
template <class T, class I>
__device__ void take_rows(const T* __restrict__ source, T* __restrict__ out,
                          const I* __restrict__ index, const Axes& axes, i64 size, int mode,
                          int lanes, FaultPage* page, i64 site) {
    const Spans spans(axes, lanes);
#pragma unroll 1
    for (i64 span = spans.begin(); span < spans.total; span += spans.step()) {
        const Place at = spans.at(span, axes);
        const i64 place = readable(index[at.count], size, mode, page, site);
        const T* from = source + at.outer * axes.outer_step + place * axes.count_step;
        T* to = out + (at.outer * axes.count + at.count) * axes.inner;
        T words[Spans::words];
#pragma unroll
        for (int k = 0; k < Spans::words; k++) {
            const i64 i = at.inner + k * lanes;
            if (i < axes.inner) words[k] = from[i * axes.inner_step];
        }
#pragma unroll
        for (int k = 0; k < Spans::words; k++) {
            const i64 i = at.inner + k * lanes;
            if (i < axes.inner) to[i] = words[k];
        }
    }
}

template <class T, class I>
__device__ void take(const T* __restrict__ source, T* __restrict__ out, const I* __restrict__ index,
                     const Axes& axes, i64 size, int mode, int along, int lanes, FaultPage* page,
                     i64 site) {
    if (along || (axes.outer == 1 && axes.inner == 1))
        take_words(source, out, index, axes, size, mode, along, page, site);
    else
        take_rows(source, out, index, axes, size, mode, lanes, page, site);
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

#define CUPOLA_INDEXED(bits, T, I, suffix)                                                         \
    extern "C" __global__ void index_take_##bits##_##suffix(                                       \
        const T* source, T* out, const I* index, i64 outer, i64 count, i64 inner, i64 outer_step,  \
        i64 count_step, i64 inner_step, i64 size, int mode, int along, int lanes, FaultPage* page, \
        i64 site) {                                                                                \
        take<T, I>(source, out, index, {outer, count, inner, outer_step, count_step, inner_step},  \
                   size, mode, along, lanes, page, site);                                          \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(index_few_threads) index_put_##bits##_##suffix(   \
        T* target, const T* values, const I* index, i64* winners, const i64* places, u32* marks,   \
        i64 positions, int slots, int pass, i64 outer, i64 count, i64 inner, i64 outer_step,       \
        i64 count_step, i64 inner_step, i64 from_outer, i64 from_count, i64 from_inner, i64 size,  \
        int mode, int along, int lanes, FaultPage* page, i64 site) {                               \
        const Axes axes{outer, count, inner, outer_step, count_step, inner_step};                  \
        const Axes from{outer, count, inner, from_outer, from_count, from_inner};                  \
        put<T, I>(target, values, {index, axes, size, mode, along},                                \
                  {winners, places, {marks, positions}, static_cast<u32>(slots), pass}, from,      \
                  lanes, page, site);                                                              \
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

#define CUPOLA_INDICES(I, suffix)                                                                 \
    extern "C" __global__ void index_check_##suffix(const I* index, i64 n, i64 size,              \
                                                    FaultPage* page, i64 site) {                  \
        check<I>(index, n, size, page, site);                                                     \
    }                                                                                             \
    extern "C" __global__ void index_winners_##suffix(const I* index, i64* winners, u32* marks,   \
                                                      i64 positions, i64 outer, i64 count,        \
                                                      i64 inner, i64 size, int mode, int along) { \
        find_winners<I>({index, {outer, count, inner, 0, 0, 0}, size, mode, along}, winners,      \
                        {marks, positions});                                                      \
    }                                                                                             \
    extern "C" __global__ void index_offsets_##suffix(const I* index, i64* offsets, i64 n,        \
                                                      i64 size, i64 step, int begins,             \
                                                      FaultPage* page, i64 site) {                \
        add_offsets<I>(index, offsets, n, size, step, begins, page, site);                        \
    }
CUPOLA_INDICES(i32, i32)
CUPOLA_INDICES(i64, i64)
