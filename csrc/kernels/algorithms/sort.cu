// csrc/kernels/algorithms/sort.cu - radix sorts of long rows: counts of digits, and passes.
#include <cub/block/block_scan.cuh>

#include "sort_pass.cuh"

using namespace cupola::algorithms;

namespace {

// Counts the digits of all passes. `chunks` blocks count a row.
template <class K>
__device__ void count_digits(const K* in, u64* bins, i64 n, u32 chunks, const KeyOrder& order) {
    constexpr int passes = sizeof(K), unrolled = 8;
    __shared__ u32 counts[passes][digits];
    for (int i = threadIdx.x; i < passes * digits; i += blockDim.x) counts[0][i] = 0;
    __syncthreads();
    const Keys<K> ordered(order);
    const i64 row = blockIdx.x / chunks, step = static_cast<i64>(chunks) * blockDim.x;
    in += row * n;
    for (i64 i = blockIdx.x % chunks * static_cast<i64>(blockDim.x) + threadIdx.x; i < n;
         i += step * unrolled) {
        K keys[unrolled];
#pragma unroll
        for (int j = 0; j < unrolled; ++j)
            if (i + j * step < n) keys[j] = in[i + j * step];
#pragma unroll
        for (int j = 0; j < unrolled; ++j) {
            if (i + j * step >= n) break;
            const K key = ordered.rank(ordered.encode(keys[j]));
#pragma unroll
            for (int pass = 0; pass < passes; ++pass)
                atomicAdd(&counts[pass][static_cast<u32>(key >> (8 * pass)) & 255], 1u);
        }
    }
    __syncthreads();
    bins += row * passes * digits;
    for (int i = threadIdx.x; i < passes * digits; i += blockDim.x)
        if (counts[0][i]) atomicAdd(reinterpret_cast<unsigned long long*>(bins + i), counts[0][i]);
}

}  // namespace

#define CUPOLA_COUNT(K, bits)                                                          \
    extern "C" __global__ void __launch_bounds__(sort_key_threads)                     \
        sort_count_##bits(const K* in, u64* bins, i64 n, u32 chunks, KeyOrder order) { \
        count_digits(in, bins, n, chunks, order);                                      \
    }
// `blocks` stay on a multiprocessor at a time: the compiler limits their registers for it.
#define CUPOLA_KEYS(name, K, threads, items, blocks)                                           \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                              \
        name(const K* in, K* out, u32* words, u32* tickets, const u64* bins, u64* next_bins,   \
             PassSpec spec, KeyOrder order) {                                                  \
        Pass<K, void, threads, items>::run(in, out, nullptr, nullptr, nullptr, words, tickets, \
                                           bins, next_bins, spec, order);                      \
    }
#define CUPOLA_PAIRS(name, K, V, threads, items, blocks)                                      \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                             \
        name(const K* in, K* out, const V* values, V* values_out, i64* indices, u32* words,   \
             u32* tickets, const u64* bins, u64* next_bins, PassSpec spec, KeyOrder order) {  \
        Pass<K, V, threads, items>::run(in, out, values, values_out, indices, words, tickets, \
                                        bins, next_bins, spec, order);                        \
    }
// Variants of a pass: threads of a block, and elements of a thread, are in the name.
#define CUPOLA_KEYS_OF(bits, K, threads, items, blocks) \
    CUPOLA_KEYS(sort_keys_##bits##_##threads##x##items, K, threads, items, blocks)
#define CUPOLA_PAIRS_OF(bits, K, threads, items, blocks) \
    CUPOLA_PAIRS(sort_pairs_##bits##_##threads##x##items, K, u32, threads, items, blocks)
#define CUPOLA_KEYS_BY_NAME(name, K, blocks) \
    CUPOLA_KEYS(name, K, name##_threads, name##_items, blocks)
#define CUPOLA_PAIRS_BY_NAME(name, K, V, blocks) \
    CUPOLA_PAIRS(name, K, V, name##_threads, name##_items, blocks)

CUPOLA_COUNT(u8, 8)
CUPOLA_COUNT(u16, 16)
CUPOLA_COUNT(u32, 32)
CUPOLA_COUNT(u64, 64)

CUPOLA_KEYS_BY_NAME(sort_keys_8, u8, 2)
CUPOLA_KEYS_BY_NAME(sort_keys_16, u16, 3)
CUPOLA_PAIRS_BY_NAME(sort_pairs_8, u8, u32, 2)
CUPOLA_PAIRS_BY_NAME(sort_pairs_16, u16, u32, 2)
CUPOLA_PAIRS_BY_NAME(sort_wide_pairs_64, u64, u64, 2)

CUPOLA_KEYS_OF(32, u32, 256, 9, 4)
CUPOLA_KEYS_OF(32, u32, 256, 21, 4)
CUPOLA_KEYS_OF(32, u32, 384, 21, 3)
CUPOLA_KEYS_OF(64, u64, 256, 7, 4)
CUPOLA_KEYS_OF(64, u64, 256, 15, 4)
CUPOLA_KEYS_OF(64, u64, 384, 15, 3)
CUPOLA_PAIRS_OF(32, u32, 256, 11, 3)
CUPOLA_PAIRS_OF(32, u32, 256, 23, 3)
CUPOLA_PAIRS_OF(32, u32, 384, 23, 2)
CUPOLA_PAIRS_OF(64, u64, 256, 7, 3)
CUPOLA_PAIRS_OF(64, u64, 256, 15, 3)
CUPOLA_PAIRS_OF(64, u64, 384, 15, 2)

// Counts of each digit become offsets. One block for a row and a pass.
extern "C" __global__ void __launch_bounds__(sort_digits) sort_offsets(u64* bins) {
    using Scan = cub::BlockScan<u64, digits>;
    __shared__ typename Scan::TempStorage shared;
    u64* own = bins + static_cast<i64>(blockIdx.x) * digits + threadIdx.x;
    u64 offset;
    Scan(shared).ExclusiveSum(*own, offset);
    *own = offset;
}
