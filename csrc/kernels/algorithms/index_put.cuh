// csrc/kernels/algorithms/index_put.cuh - writes by indices; of equal indices the last one's stays.
#pragma once

#include "index_positions.cuh"
#include "lookback.cuh"

namespace cupola::algorithms {

// Which positions are named by several indices. Each has a bit among those that an index names,
// and a bit among those that several indices name. The first word says whether there are any.
struct Marks {
    u32* any;
    i64 positions;

    __device__ u32* named() const { return any + 1; }
    __device__ u32* repeated() const { return named() + ((positions + 31) >> 5); }
    __device__ static u32 bit(i64 place) { return 1u << (place & 31); }
    __device__ bool is_repeated(i64 place) const {
        return (repeated()[place >> 5] & bit(place)) != 0;
    }
    // Whether no thread marked the position before. Else the position gets a winner of 0.
    __device__ bool add(i64 place, i64* winners) const {
        if (!(atomicOr(named() + (place >> 5), bit(place)) & bit(place))) return true;
        send(reinterpret_cast<u64*>(winners) + place, 0);
        atomicOr(repeated() + (place >> 5), bit(place));
        if (!receive(any)) atomicOr(any, 1u);
        return false;
    }
};

// Indices with the numbers of the positions that they name. `along`: each word of
// (outer, count, inner) has an index of its own, whose position has a number among all words.
template <class I>
struct Indices {
    const I* index;
    Axes axes;
    i64 size;
    int mode, along;

    __device__ i64 count() const {
        return along ? axes.outer * axes.count * axes.inner : axes.count;
    }
    __device__ i64 numbered(i64 place, const Place& at) const {
        return along ? (at.outer * size + place) * axes.inner + at.inner : place;
    }
    __device__ i64 number(i64 j) const {
        const i64 place = position(index[j], size, mode);
        return along && place != outside ? numbered(place, place_of(j, axes)) : place;
    }
};

// The number + 1 of the last index that names a position; with `marks`, of repeated positions.
template <class I>
__device__ void find_winners(const Indices<I>& indices, i64* winners, const Marks& marks) {
    if (marks.any && !*marks.any) return;
#pragma unroll 1
    for (i64 j = first<i64>(); j < indices.count(); j += threads<i64>()) {
        const i64 number = indices.number(j);
        if (number != outside && (!marks.any || marks.is_repeated(number)))
            atomicMax(reinterpret_cast<long long*>(winners) + number,
                      static_cast<long long>(j) + 1);
    }
}

// The last of equal indices, for few indices: a hash table in shared memory, which each block
// fills. A slot has the number + 1 of an index, or 0. At least half of the slots stay empty. The
// number of slots is a power of two.
//
// Positions of short axes have slots of their own.
__device__ inline u32 slot_of(i64 number, u32 slots) {
    return static_cast<u32>(number ^ (number >> 13) * 0x9e3779b1) & (slots - 1);
}

// Not inlined, and with arguments by value: other writes would have the code and its local memory.
template <class I>
__device__ __noinline__ void fill_table(u32* table, u32 slots, Indices<I> indices) {
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) table[i] = 0;
    __syncthreads();
    const auto n = static_cast<u32>(indices.count());
#pragma unroll 1
    for (u32 j = threadIdx.x; j < n; j += blockDim.x) {
        const i64 own = indices.number(j);
        if (own == outside) continue;
#pragma unroll 1
        for (u32 slot = slot_of(own, slots);; slot = (slot + 1) & (slots - 1)) {
            const u32 found = atomicCAS(table + slot, 0u, j + 1);
            if (found && indices.number(found - 1) != own) continue;
            if (found) atomicMax(table + slot, j + 1);
            break;
        }
    }
    __syncthreads();
}

template <class I>
__device__ __noinline__ bool is_last(const u32* table, u32 slots, Indices<I> indices, u32 j) {
    const i64 own = indices.number(j);
#pragma unroll 1
    for (u32 slot = slot_of(own, slots);; slot = (slot + 1) & (slots - 1)) {
        const u32 found = table[slot];
        if (found == j + 1) return true;
        if (indices.number(found - 1) == own) return false;
    }
}

// How the last of equal indices is found, if some may be equal.
struct Equal {
    i64* winners;       // the number + 1 of each position's last index
    const i64* places;  // the numbers of the positions, where `index` has offsets
    Marks marks;
    u32 slots;  // of the table for few indices; 0 without it
    int pass;

    // Whether the index with number j writes its value to the position with a number.
    __device__ bool writes(i64 number, i64 j) const {
        if (pass == MARK) return marks.add(number, winners);
        if (pass == REPAIR && !marks.is_repeated(number)) return false;
        return winners[number] == j + 1;
    }
};

// Threads share rows, or single words: then `lanes` is 1.
template <class T, class I>
__device__ void put(T* target, const T* values, const Indices<I>& indices, const Equal& equal,
                    const Axes& from, int lanes, FaultPage* page, i64 site) {
    extern __shared__ u32 table[];
    if (equal.pass == REPAIR && !*equal.marks.any) return;
    if (equal.slots) fill_table(table, equal.slots, indices);
    const Axes& axes = indices.axes;
    const Spans spans(axes, lanes);
    const i64 total = indices.along ? indices.count() : spans.total;
#pragma unroll 1
    for (i64 span = spans.begin(); span < total; span += spans.step()) {
        const Place at = indices.along ? place_of(span, axes) : spans.at(span, axes);
        const i64 j = indices.along ? span : at.count;
        const i64 place = position(indices.index[j], indices.size, indices.mode);
        if (place == outside) {
            if (indices.mode == RAISE && equal.pass != REPAIR)
                report(page, indices.index[j], indices.size, site);
            continue;
        }
        if (equal.slots) {
            if (!is_last(table, equal.slots, indices, static_cast<u32>(j))) continue;
        } else if (equal.winners) {
            const i64 number = equal.places ? equal.places[j] : indices.numbered(place, at);
            if (!equal.writes(number, j)) continue;
        }
        const i64 end = indices.along ? at.inner + 1 : axes.inner;
        const T* source = values + at.outer * from.outer_step + at.count * from.count_step;
        T* to = target + at.outer * axes.outer_step + place * axes.count_step;
        T words[Spans::words];
#pragma unroll
        for (int k = 0; k < Spans::words; k++) {
            const i64 i = at.inner + k * lanes;
            if (i < end) words[k] = source[i * from.inner_step];
        }
#pragma unroll
        for (int k = 0; k < Spans::words; k++) {
            const i64 i = at.inner + k * lanes;
            if (i < end) to[i * axes.inner_step] = words[k];
        }
    }
}

}  // namespace cupola::algorithms
