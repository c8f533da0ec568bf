// csrc/kernels/algorithms/sort_pass.cuh - one pass of a radix sort over all tiles of all rows.
#pragma once

#include <cub/block/block_radix_rank.cuh>

#include "../constants.h"
#include "lookback.cuh"
#include "sort_keys.cuh"

namespace cupola::algorithms {

using namespace constants;

constexpr int digits = sort_digits;
// The two highest bits of a word say what its other bits count.
constexpr u32 of_tile = 1u << sort_count_bits, of_all = 2u << sort_count_bits,
              count_mask = of_tile - 1;

// A pass reads each key once. Tiles take their offsets from those before them (Adinets and
// Merrill, "Onesweep"). A tile waits only for tiles that began before it.
struct PassSpec {
    i64 n;            // elements of a row
    i64 begin, end;   // the part of each row that this launch sorts: fewer than 2^30 elements
    i64 bins_stride;  // bins from one row to the next
    int shift;        // position of the digit's lowest bit
    int first, last;  // pass: encode, decode
};

// V: the type of an index, void for none. The first pass has no `values`: they are the positions.
// The last pass writes `indices` instead of `values_out`.
template <class K, class V, int threads, int items>
struct Pass {
    static constexpr bool pairs = !std::is_void_v<V>;
    using Value = std::conditional_t<pairs, V, u8>;
    static constexpr int tile_items = threads * items;
    using Rank =
        cub::BlockRadixRankMatchEarlyCounts<threads, 8, false, cub::BLOCK_SCAN_RAKING_MEMOIZE,
                                            cub::WARP_MATCH_ANY, 1>;

    struct Shared {
        union {
            typename Rank::TempStorage rank;
            K keys[tile_items];
            Value values[tile_items];
        };
        i64 offsets[digits];
        u32 ticket;
    };

    // Called by each thread with the counts of its digits, before the keys have their ranks.
    struct Publish {
        static constexpr bool EMPTY = false;
        u32* word;
        int& count;
        __device__ void operator()(int (&counts)[1]) const {
            count = counts[0];
            if (threadIdx.x < digits) send(word, static_cast<u32>(count) | of_tile);
        }
    };

    // The number of elements with this thread's digit in tiles before this one.
    static __device__ i64 count_before(u32* words, u32 tile, int count) {
        u32* word = words + threadIdx.x;
        u32 before = 0;
        for (u32 other = tile; other > 0;) {
            --other;
            u32 value;
            do value = receive(word - (tile - other) * digits);
            while (value == 0);
            before += value & count_mask;
            if (value & of_all) break;
        }
        send(word, (before + static_cast<u32>(count)) | of_all);
        return before;
    }

    static __device__ void run(const K* in, K* out, const Value* values, Value* values_out,
                               i64* indices, u32* words, u32* tickets, const u64* bins,
                               u64* next_bins, const PassSpec& spec, const KeyOrder& order) {
        __shared__ Shared shared;
        if (threadIdx.x == 0) shared.ticket = atomicAdd(tickets, 1u);
        __syncthreads();
        const auto length = static_cast<u32>(spec.end - spec.begin);
        const u32 tiles = (length + tile_items - 1) / tile_items;  // of a row
        const u32 ticket = shared.ticket, row = ticket / tiles, tile = ticket % tiles;
        const i64 begin = spec.begin + static_cast<i64>(tile) * tile_items, start = row * spec.n;
        const int count = static_cast<int>(min(spec.end - begin, static_cast<i64>(tile_items)));
        const int place = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
        const Keys<K> ordered(order);
        const DigitOf<K> digit{ordered, spec.shift};
        words += static_cast<i64>(ticket) * digits;

        K keys[items];
        in += start + begin;
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int at = place + 32 * i;
            keys[i] = ordered.last();
            if (at < count) keys[i] = spec.first ? ordered.encode(in[at]) : in[at];
        }
        int ranks[items], before[1], counted = 0;
        __syncthreads();
        Rank(shared.rank)
            .RankKeys(keys, ranks, digit, before, Publish{words + threadIdx.x, counted});
        __syncthreads();
#pragma unroll
        for (int i = 0; i < items; ++i) shared.keys[ranks[i]] = keys[i];
        if (threadIdx.x < digits) {
            const u64 base = bins[row * spec.bins_stride + threadIdx.x];
            const i64 offset = static_cast<i64>(base) + count_before(words, tile, counted);
            shared.offsets[threadIdx.x] = offset - before[0];
            if (next_bins && length - tile * tile_items <= tile_items)  // the row's last tile
                next_bins[row * digits + threadIdx.x] = static_cast<u64>(offset + counted);
        }
        __syncthreads();
        u8 digit_of[items];
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * threads;
            const K key = shared.keys[at];
            digit_of[i] = static_cast<u8>(digit.Digit(key));
            if (out && at < count)
                out[start + shared.offsets[digit_of[i]] + at] =
                    spec.last ? ordered.decode(key) : key;
        }
        if constexpr (pairs) {
            Value own[items];
#pragma unroll
            for (int i = 0; i < items; ++i) {
                const int at = place + 32 * i;
                if (at < count)
                    own[i] = values ? values[start + begin + at] : static_cast<Value>(begin + at);
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < items; ++i) shared.values[ranks[i]] = own[i];
            __syncthreads();
#pragma unroll
            for (int i = 0; i < items; ++i) {
                const int at = static_cast<int>(threadIdx.x) + i * threads;
                if (at >= count) continue;
                const i64 to = start + shared.offsets[digit_of[i]] + at;
                if (indices)
                    indices[to] = static_cast<i64>(shared.values[at]);
                else
                    values_out[to] = shared.values[at];
            }
        }
    }
};

}  // namespace cupola::algorithms
