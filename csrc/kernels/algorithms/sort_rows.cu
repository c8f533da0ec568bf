// csrc/kernels/algorithms/sort_rows.cu - radix sorts of short rows, one block each.
#include <cub/block/block_radix_rank.cuh>

#include "../constants.h"
#include "sort_keys.cuh"

using namespace cupola::algorithms;
using namespace cupola::constants;

namespace {

// All passes in shared memory. `out` and `indices` may be null; an index is a position in the row.
template <class K, int threads, int items>
struct RowSort {
    static constexpr int row_items = threads * items;
    using Rank = cub::BlockRadixRankMatch<threads, 8, false>;
    union Shared {
        typename Rank::TempStorage rank;
        K keys[row_items];
        u16 places[row_items];
    };

    static __device__ void run(const K* in, K* out, i64* indices, int n, const KeyOrder& order) {
        __shared__ Shared shared;
        const Keys<K> ordered(order);
        const i64 start = static_cast<i64>(blockIdx.x) * n;
        const int place = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
        K keys[items];
        u16 places[items];
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int at = place + 32 * i;
            keys[i] = at < n ? ordered.encode(in[start + at]) : ordered.last();
            places[i] = static_cast<u16>(at);
        }
#pragma unroll 1
        for (int shift = 0; shift < 8 * static_cast<int>(sizeof(K)); shift += 8) {
            int ranks[items];
            __syncthreads();
            Rank(shared.rank).RankKeys(keys, ranks, DigitOf<K>{ordered, shift});
            __syncthreads();
            exchange(shared.keys, keys, ranks, place);
            if (indices) {
                __syncthreads();
                exchange(shared.places, places, ranks, place);
            }
        }
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int at = place + 32 * i;
            if (at >= n) continue;
            if (out) out[start + at] = ordered.decode(keys[i]);
            if (indices) indices[start + at] = places[i];
        }
    }

    template <class T>
    static __device__ void exchange(T* shared, T (&own)[items], int (&ranks)[items], int place) {
#pragma unroll
        for (int i = 0; i < items; ++i) shared[ranks[i]] = own[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < items; ++i) own[i] = shared[place + 32 * i];
    }
};

}  // namespace

#define CUPOLA_ROWS(form, bits, K)                                                 \
    extern "C" __global__ void __launch_bounds__(form##_threads)                   \
        form##_##bits(const K* in, K* out, i64* indices, int n, KeyOrder order) {  \
        RowSort<K, form##_threads, form##_items>::run(in, out, indices, n, order); \
    }

CUPOLA_ROWS(sort_row, 8, u8)
CUPOLA_ROWS(sort_row, 16, u16)
CUPOLA_ROWS(sort_row, 32, u32)
CUPOLA_ROWS(sort_row, 64, u64)
CUPOLA_ROWS(sort_long_row, 8, u8)
CUPOLA_ROWS(sort_long_row, 16, u16)
CUPOLA_ROWS(sort_long_row, 32, u32)
CUPOLA_ROWS(sort_long_row, 64, u64)
