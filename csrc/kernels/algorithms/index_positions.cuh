// csrc/kernels/algorithms/index_positions.cuh - positions of words by indices, and faults of
// indices.
#pragma once

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

// The three axes of a copy by indices. Steps count words.
struct Axes {
    i64 outer, count, inner, outer_step, count_step, inner_step;
};

struct Place {
    i64 outer, count, inner;
};

__device__ inline Place place_of(i64 p, const Axes& axes) {
    const i64 row = axes.inner == 1 ? p : static_cast<i64>(quotient(p, axes.inner));
    const i64 outer = axes.outer == 1 ? 0 : static_cast<i64>(quotient(row, axes.count));
    return {outer, row - outer * axes.count, p - row * axes.inner};
}

// The place of the next word.
__device__ inline Place following(Place at, const Axes& axes) {
    if (++at.inner < axes.inner) return at;
    at.inner = 0;
    if (++at.count < axes.count) return at;
    return {at.outer + 1, 0, 0};
}

// The part of each row that a thread copies: a group of `lanes` threads has a span of a row, and
// a thread has every `lanes`-th word of the span. `lanes` is a power of two, up to a block.
struct Spans {
    static constexpr int words = index_row_words;  // of a thread; its loads are in flight together
    i64 spans, total;                              // of a row, and of all rows
    int lanes, shift;

    __device__ Spans(const Axes& axes, int lanes) : lanes(lanes), shift(__ffs(lanes) - 1) {
        spans = static_cast<i64>(quotient(axes.inner + words * lanes - 1, words * lanes));
        total = axes.outer * axes.count * spans;
    }
    __device__ i64 begin() const { return first<i64>() >> shift; }
    __device__ i64 step() const { return threads<i64>() >> shift; }
    // The thread's first word of a span.
    __device__ Place at(i64 span, const Axes& axes) const {
        const i64 row = spans == 1 ? span : static_cast<i64>(quotient(span, spans));
        const i64 outer = axes.outer == 1 ? 0 : static_cast<i64>(quotient(row, axes.count));
        const i64 lane = threadIdx.x & (lanes - 1);
        return {outer, row - outer * axes.count, ((span - row * spans) * words << shift) + lane};
    }
};

}  // namespace cupola::algorithms
