// csrc/kernels/algorithms/tile_totals.cuh - what stands before a tile, in an order that is fixed.
#pragma once

#include "accumulators.cuh"
#include "lookback.cuh"

namespace cupola::algorithms {

// The totals of tiles, of groups of 32 tiles, and of all tiles to the end of 32 groups. Each is
// written once. A tile combines the same totals in the same order in every run: the long total
// before its groups, those of groups, those of tiles. So floats have the same bits.
template <class Op>
struct TileTotals {
    using T = typename Op::Total;
    static constexpr int pieces = (sizeof(T) + 3) / 4;

    u64* words;
    u32 tiles;

    // Words of a row.
    static __host__ __device__ i64 size(u32 tiles) {
        return (static_cast<i64>(tiles) + (tiles >> 5) + (tiles >> 10)) * pieces;
    }
    __device__ u64* of_tile(u32 i) const { return words + static_cast<i64>(i) * pieces; }
    __device__ u64* of_group(u32 i) const { return of_tile(tiles) + static_cast<i64>(i) * pieces; }
    __device__ u64* of_all(u32 i) const {
        return of_group(tiles >> 5) + static_cast<i64>(i) * pieces;
    }

    // Each word has 32 bits of a total, and a flag that they are written.
    static __device__ void put(u64* slot, T total) {
        union Pieces {
            T total;
            u32 piece[pieces];
            __device__ Pieces() {}
        } all;
        all.piece[pieces - 1] = 0;
        all.total = total;
#pragma unroll
        for (int i = 0; i < pieces; ++i) send(slot + i, all.piece[i] | u64{1} << 32);
    }
    static __device__ T wait(const u64* slot) {
        union Pieces {
            T total;
            u32 piece[pieces];
            __device__ Pieces() {}
        } all;
#pragma unroll
        for (int i = 0; i < pieces; ++i) {
            u64 word;
            do word = receive(slot + i);
            while (!(word >> 32));
            all.piece[i] = static_cast<u32>(word);
        }
        return all.total;
    }

    // Called by one warp. Publishes the total of a tile and returns that of earlier tiles, which
    // the first tile has not.
    __device__ T exchange(const Op& op, u32 tile, T total, int lane) const {
        const int in_group = tile % 32, group = static_cast<int>(tile / 32);
        if (lane == 0) put(of_tile(tile), total);
        T before = total;
        if (lane < in_group) before = wait(of_tile(tile - in_group + lane));
        const T of_tiles = scan_lanes(op, before, lane);
        if (in_group == 31 && lane == 31) put(of_group(group), of_tiles);
        const int groups = group % 32;
        T grouped = total;
        if (lane < groups) grouped = wait(of_group(group - groups + lane));
        const T of_groups = scan_lanes(op, grouped, lane);
        bool any = false;
        T prefix = total;
        if (group >= 32) {
            prefix = wait(of_all(group / 32 - 1));
            any = true;
        }
        append(op, prefix, any, of_groups, groups);
        append(op, prefix, any, of_tiles, in_group);
        if (tile % 1024 == 1023 && lane == 0) put(of_all(tile / 1024), op.combine(prefix, total));
        return prefix;
    }

    // Appends the scan of the first `count` lanes.
    static __device__ void append(const Op& op, T& prefix, bool& any, T scanned, int count) {
        const T all = from_lane(scanned, count - 1);
        if (count == 0) return;
        prefix = any ? op.combine(prefix, all) : all;
        any = true;
    }

    static __device__ T from_lane(T value, int lane) {
        if constexpr (sizeof(T) < 4) {
            return static_cast<T>(__shfl_sync(~0u, static_cast<u32>(value), lane & 31));
        } else {
            union Words {
                T value;
                u32 words[sizeof(T) / 4];
                __device__ Words() {}
            } all;
            all.value = value;
#pragma unroll
            for (u32& word : all.words) word = __shfl_sync(~0u, word, lane & 31);
            return all.value;
        }
    }
};

}  // namespace cupola::algorithms
