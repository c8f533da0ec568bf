// csrc/kernels/algorithms/select.cu - elements whose flag is set, in order, in one pass.
//
// Each block counts its tile's flags, adds the counts of the tiles before it by a decoupled
// look-back, and writes its elements. Counts have 62 bits.
#include "lookback.cuh"
#include "moved.cuh"

namespace cupola::algorithms {

constexpr int block_threads = 256;
constexpr int warps = block_threads / 32;

// The top two bits of a tile's state say what the others are: nothing, the tile's own count, or the
// count of all elements up to its end.
constexpr u64 own = u64(1) << 62, total_so_far = u64(2) << 62, count_bits = own - 1;

// The count of the tiles before this one; called by all threads of one warp.
__device__ inline u64 count_before(u64* states, i64 tile, u64 count) {
    const int lane = threadIdx.x % 32;
    if (tile == 0) {
        if (lane == 0) send(states, total_so_far | count);
        return 0;
    }
    if (lane == 0) send(states + tile, own | count);
    u64 before = 0;
    for (i64 nearest = tile - 1;; nearest -= 32) {
        const i64 other = nearest - lane;
        u64 word = total_so_far;
        do {
            if (other >= 0) word = receive(states + other);
        } while (__any_sync(~0u, word < own));
        // The closest tile with a total ends the search; those behind it do not count.
        const unsigned ends = __ballot_sync(~0u, word >= total_so_far);
        const int end = ends ? __ffs(static_cast<int>(ends)) - 1 : 32;
        u64 part = lane <= end ? word & count_bits : 0;
#pragma unroll
        for (int step = 16; step; step /= 2)
            part += __shfl_xor_sync(~0u, static_cast<unsigned long long>(part), step);
        before += part;
        if (ends) break;
    }
    if (lane == 0) send(states + tile, total_so_far | (before + count));
    return before;
}

// Lanes of a warp have neighbouring elements, so loads and stores are coalesced, and ballots give
// the ranks of elements.
template <int items, class Load, class Write>
__device__ void select(const std::uint8_t* __restrict__ flags, i64 n, u64* states, u64* count,
                       Load load, Write write) {
    __shared__ unsigned counts[warps];
    __shared__ u64 block_start;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 tile = blockIdx.x;
    const i64 start = tile * (block_threads * items) + warp * (32 * items) + lane;
    unsigned set[items], mine = 0;
    if (start - lane + 32 * items <= n) {
        std::uint8_t loaded[items];
#pragma unroll
        for (int k = 0; k < items; k++) loaded[k] = flags[start + 32 * k];
#pragma unroll
        for (int k = 0; k < items; k++) set[k] = __ballot_sync(~0u, loaded[k] != 0);
    } else {
#pragma unroll
        for (int k = 0; k < items; k++)
            set[k] = __ballot_sync(~0u, start + 32 * k < n && flags[start + 32 * k] != 0);
    }
#pragma unroll
    for (int k = 0; k < items; k++) {
        mine += __popc(set[k]);
        if (set[k] >> lane & 1) load(k, start + 32 * k);
    }
    if (lane == 0) counts[warp] = mine;
    __syncthreads();
    unsigned before_warp = 0, all = 0;
#pragma unroll
    for (int w = 0; w < warps; w++) {
        before_warp += w < warp ? counts[w] : 0;
        all += counts[w];
    }
    if (warp == 0) {
        const u64 before = count_before(states, tile, all);
        if (lane == 0) {
            block_start = before;
            if (tile == gridDim.x - 1) *count = before + all;
        }
    }
    __syncthreads();
    u64 rank = block_start + before_warp;
#pragma unroll
    for (int k = 0; k < items; k++) {
        if (set[k] >> lane & 1)
            write(k, start + 32 * k, rank + __popc(set[k] & ((1u << lane) - 1)));
        rank += __popc(set[k]);
    }
}

// Tiles of words of 16 bytes are smaller: a thread's words stay in registers. The host knows both.
template <class T>
constexpr int items_of = sizeof(T) == 16 ? 8 : 16;

template <class T>
__device__ void select_words(const std::uint8_t* flags, const T* __restrict__ source,
                             T* __restrict__ out, i64 n, u64* states, u64* count) {
    T words[items_of<T>];
    select<items_of<T>>(
        flags, n, states, count, [&](int k, i64 at) { words[k] = source[at]; },
        [&](int k, i64, u64 rank) { out[rank] = words[k]; });
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_SELECT(bits, T)                                                                \
    extern "C" __global__ void __launch_bounds__(block_threads) select_##bits(                \
        const std::uint8_t* flags, const T* source, T* out, u64* states, u64* count, i64 n) { \
        select_words<T>(flags, source, out, n, states, count);                                \
    }
CUPOLA_WORDS(CUPOLA_SELECT)

extern "C" __global__ void __launch_bounds__(block_threads)
    select_indices(const std::uint8_t* flags, i64* out, u64* states, u64* count, i64 n) {
    select<16>(
        flags, n, states, count, [](int, i64) {}, [&](int, i64 at, u64 rank) { out[rank] = at; });
}

// One axis of the positions: (flat / divisor) % size.
extern "C" __global__ void select_axis(const i64* flat, i64* out, i64 n, i64 divisor, i64 size) {
#pragma unroll 1
    for (i64 p = first<i64>(); p < n; p += threads<i64>()) {
        const u64 row = static_cast<u64>(flat[p]) / static_cast<u64>(divisor);
        out[p] = static_cast<i64>(row % static_cast<u64>(size));
    }
}
