// csrc/kernels/algorithms/select.cu - elements whose flag is set, in order, in one pass.
//
// Each block counts its tile's flags, adds the counts of the tiles before it by a decoupled
// look-back, and writes its elements. Counts have 62 bits.
#include "../constants.h"
#include "lookback.cuh"
#include "moved.cuh"
#include "sort_keys.cuh"

namespace cupola::algorithms {

using namespace constants;

// The top two bits of a tile's state say what its other bits are: nothing, the tile's own count,
// or the count of all elements up to its end.
constexpr u64 own = u64(1) << 62, total_so_far = u64(2) << 62, count_bits = own - 1;

// The count of the tiles before this one; called by all threads of one warp. A tile that is alone
// needs no states.
__device__ inline u64 count_before(u64* states, i64 tile, u64 count) {
    const int lane = threadIdx.x % 32;
    if (tile == 0) {
        if (lane == 0 && states) send(states, total_so_far | count);
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
        // The closest tile with a total ends the search; tiles before that tile do not count.
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

// Four elements of a lane, which one or a few loads move where they are aligned.
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
    T element[4];
};

template <class T>
__device__ bool is_aligned(const T* address) {
    return reinterpret_cast<u64>(address) % alignof(Four<T>) == 0;
}

// Reads a byte that is 0 or 1 for each of four flags.
struct Mask {
    const std::uint8_t* flags;
    i64 n;
    bool aligned;

    __device__ Mask(const std::uint8_t* flags, i64 n)
        : flags(flags), n(n), aligned(is_aligned(flags)) {}
    __device__ u32 operator()(int, i64 at) const {
        const std::uint8_t* here = flags + at;
        const i64 left = n - at;
        u32 found = 0;
        if (aligned && left >= 4) {
            found = *reinterpret_cast<const u32*>(here);
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (j < left) found |= static_cast<u32>(here[j]) << (8 * j);
        }
        constexpr u32 low = 0x7f7f7f7fu;  // a sum carries into the high bit of a byte that is not 0
        return (((found & low) + low) | found) >> 7 & 0x01010101u;
    }
};

// The first element of a thread, which has four of each 128 elements of its warp.
template <int threads, int rounds>
__device__ i64 first_element() {
    return (static_cast<i64>(blockIdx.x) * (threads / 32) + threadIdx.x / 32) * (128 * rounds) +
           threadIdx.x % 32 * 4;
}

// The elements of a tile move through shared memory, so that stores are coalesced, too.
// `flags(k, at)` returns those of four elements from `at` on. `load(k, at, set)` reads the
// elements, and `move(k, j, to)` puts one of them into shared memory; `store` writes the tile's
// elements from a position on.
template <int threads, int rounds, class Flags, class Load, class Move, class Store>
__device__ void select(u64* states, u64* count, Flags flags, Load load, Move move, Store store) {
    constexpr int warps = threads / 32;
    __shared__ unsigned counts[warps];
    __shared__ u64 tile_start;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 tile = blockIdx.x, start = first_element<threads, rounds>();
    u32 set[rounds], rank[rounds], mine = 0;
#pragma unroll
    for (int k = 0; k < rounds; k++) set[k] = flags(k, start + 128 * k);
#pragma unroll
    for (int k = 0; k < rounds; k++)
        if (set[k]) load(k, start + 128 * k, set[k]);
    // A byte for each round: a warp has at most 128 flags in one.
    u32 sums = 0;
#pragma unroll
    for (int k = 0; k < rounds; k++) sums |= static_cast<u32>(__popc(set[k])) << (8 * k);
    const u32 own_counts = sums;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const u32 below = __shfl_up_sync(~0u, sums, distance);
        if (lane >= distance) sums += below;
    }
    const u32 all_counts = __shfl_sync(~0u, sums, 31), before_lane = sums - own_counts;
#pragma unroll
    for (int k = 0; k < rounds; k++) {
        rank[k] = mine + (before_lane >> (8 * k) & 255);
        mine += all_counts >> (8 * k) & 255;
    }
    if (lane == 0) counts[warp] = mine;
    __syncthreads();
    u32 before_warp = 0, all = 0;
#pragma unroll
    for (int w = 0; w < warps; w++) {
        before_warp += w < warp ? counts[w] : 0;
        all += counts[w];
    }
    if (warp == 0) {
        const u64 before = count_before(states, tile, all);
        if (lane == 0) {
            tile_start = before;
            if (tile == gridDim.x - 1) *count = before + all;
        }
    }
#pragma unroll
    for (int k = 0; k < rounds; k++) {
        u32 to = before_warp + rank[k];
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (set[k] >> (8 * j) & 1) move(k, j, to++);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < all; i += threads) store(i, tile_start + i);
}

// Threads of a block, and rounds in which each thread takes four elements.
template <class T>
constexpr int threads_of = sizeof(T) > 4 ? select_wide_threads : select_threads;
template <class T>
constexpr int rounds_of = (sizeof(T) == 16 ? select_items_16 : select_items) / 4;

template <class T>
__device__ void select_words(const std::uint8_t* flags, const T* __restrict__ source,
                             T* __restrict__ out, i64 n, u64* states, u64* count) {
    constexpr int threads = threads_of<T>, rounds = rounds_of<T>;
    __shared__ T staged[threads * 4 * rounds];
    Four<T> words[rounds];
    const bool aligned = is_aligned(source);
    select<threads, rounds>(
        states, count, Mask(flags, n),
        [&](int k, i64 at, u32 set) {
            if (aligned && n - at >= 4) {
                words[k] = *reinterpret_cast<const Four<T>*>(source + at);
            } else {
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (set >> (8 * j) & 1) words[k].element[j] = source[at + j];
            }
        },
        [&](int k, int j, u32 to) { staged[to] = words[k].element[j]; },
        [&](u32 i, u64 to) { out[to] = staged[i]; });
}

// Flags elements that differ from those before them. Not inlined: each round has a call.
template <class K>
__device__ __noinline__ u32 changes(Four<K> words, K previous, Keys<K> keys, int equal_nan) {
    u32 set = 0;
    K before = keys.rank(keys.encode(previous));
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const K own = keys.rank(keys.encode(words.element[j]));
        const bool alone = !equal_nan && own == keys.rank(static_cast<K>(~K(0)));
        set |= static_cast<u32>(own != before || alone) << (8 * j);
        before = own;
    }
    return set;
}

// The first of equal elements of a sorted array, which is aligned for loads of four. NaN are equal,
// or each differs from all others.
template <class K>
__device__ void select_changes(const K* __restrict__ sorted, K* __restrict__ out, i64 n,
                               u64* states, u64* count, const KeyOrder& order, int equal_nan) {
    constexpr int threads = threads_of<K>, rounds = rounds_of<K>;
    __shared__ K staged[threads * 4 * rounds];
    Four<K> words[rounds];
    const Keys<K> keys(order);
    const i64 start = first_element<threads, rounds>();
    K previous[rounds];
#pragma unroll
    for (int k = 0; k < rounds; k++) {
        const i64 at = start + 128 * k;
        if (at < n) previous[k] = sorted[at ? at - 1 : 0];
        if (n - at >= 4) {
            words[k] = *reinterpret_cast<const Four<K>*>(sorted + at);
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (at + j < n) words[k].element[j] = sorted[at + j];
        }
    }
    select<threads, rounds>(
        states, count,
        [&](int k, i64 at) {
            if (at >= n) return 0u;
            const u32 set = changes(words[k], previous[k], keys, equal_nan) | (at == 0);
            return n - at >= 4 ? set : set & ((1u << (8 * (n - at))) - 1);
        },
        [](int, i64, u32) {}, [&](int k, int j, u32 to) { staged[to] = words[k].element[j]; },
        [&](u32 i, u64 to) { out[to] = staged[i]; });
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_SELECT(bits, T)                                                                \
    extern "C" __global__ void __launch_bounds__(threads_of<T>) select_##bits(                \
        const std::uint8_t* flags, const T* source, T* out, u64* states, u64* count, i64 n) { \
        select_words<T>(flags, source, out, n, states, count);                                \
    }
CUPOLA_WORDS(CUPOLA_SELECT)

#define CUPOLA_CHANGES(bits, K)                                                                   \
    extern "C" __global__ void __launch_bounds__(threads_of<K>) select_changes_##bits(            \
        const K* sorted, K* out, u64* states, u64* count, i64 n, KeyOrder order, int equal_nan) { \
        select_changes<K>(sorted, out, n, states, count, order, equal_nan);                       \
    }
CUPOLA_CHANGES(8, u8)
CUPOLA_CHANGES(16, u16)
CUPOLA_CHANGES(32, u32)
CUPOLA_CHANGES(64, u64)

extern "C" __global__ void __launch_bounds__(select_threads)
    select_indices(const std::uint8_t* flags, i64* out, u64* states, u64* count, i64 n) {
    constexpr int threads = select_threads, rounds = select_items / 4;
    __shared__ std::uint16_t staged[threads * 4 * rounds];
    const i64 tile_begin = static_cast<i64>(blockIdx.x) * (threads * 4 * rounds);
    const int own = static_cast<int>(threadIdx.x / 32 * (128 * rounds) + threadIdx.x % 32 * 4);
    select<threads, rounds>(
        states, count, Mask(flags, n), [](int, i64, u32) {},
        [&](int k, int j, u32 to) { staged[to] = static_cast<std::uint16_t>(own + 128 * k + j); },
        [&](u32 i, u64 to) { out[to] = tile_begin + staged[i]; });
}

// One axis of the positions: (flat / divisor) % size.
extern "C" __global__ void select_axis(const i64* flat, i64* out, i64 n, i64 divisor, i64 size) {
#pragma unroll 1
    for (i64 p = first<i64>(); p < n; p += threads<i64>()) {
        const u64 row = static_cast<u64>(flat[p]) / static_cast<u64>(divisor);
        out[p] = static_cast<i64>(row % static_cast<u64>(size));
    }
}
