// csrc/kernels/algorithms/sort_gather.cu - keys of complex numbers, wide keys, elements by index.
#include "../array/types.cuh"
#include "../constants.h"
#include "sort_keys.cuh"

using namespace cupola::algorithms;
using cupola::constants::sort_key_threads;

namespace {

__device__ i64 thread_index() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }

// NumPy's order: numbers, then numbers with a NaN as the imaginary part, then numbers with a NaN as
// the real part.
template <class K>
__device__ void split(const K* parts, K& high, K& low, const KeyOrder& order) {
    const Keys<K> keys(order);
    const K nan = static_cast<K>(~K(0));
    high = keys.rank(keys.encode(parts[0]));
    low = keys.rank(keys.encode(parts[1]));
    if (high != nan && low == nan) {
        low = high;
        high = nan - 1;
    }
}

template <class K>
__device__ void widen_keys(const K* in, u64* out, i64 n, const KeyOrder& order) {
    const i64 i = thread_index();
    if (i >= n) return;
    const Keys<K> keys(order);
    out[i] = keys.rank(keys.encode(in[i]));
}

template <class T>
__device__ void gather(const T* in, const i64* indices, T* out, i64 count, i64 n) {
    const i64 i = thread_index();
    if (i < count) out[i] = in[i / n * n + indices[i]];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(sort_key_threads)
    sort_key_of_complex64(const u32* in, u64* out, i64 n, KeyOrder order) {
    const i64 i = thread_index();
    if (i >= n) return;
    u32 high, low;
    split(in + 2 * i, high, low, order);
    out[i] = static_cast<u64>(high) << 32 | low;
}

extern "C" __global__ void __launch_bounds__(sort_key_threads)
    sort_keys_of_complex128(const u64* in, u64* high, u64* low, i64 n, KeyOrder order) {
    const i64 i = thread_index();
    if (i < n) split(in + 2 * i, high[i], low[i], order);
}

#define CUPOLA_WIDEN(K, bits)                                             \
    extern "C" __global__ void __launch_bounds__(sort_key_threads)        \
        sort_widen_##bits(const K* in, u64* out, i64 n, KeyOrder order) { \
        widen_keys(in, out, n, order);                                    \
    }
CUPOLA_WIDEN(u8, 8)
CUPOLA_WIDEN(u16, 16)
CUPOLA_WIDEN(u32, 32)
CUPOLA_WIDEN(u64, 64)

// For each row of n elements, writes the element at `indices[i]` of the row.
#define CUPOLA_GATHER(T, bits)                                                          \
    extern "C" __global__ void __launch_bounds__(sort_key_threads)                      \
        sort_gather_##bits(const T* in, const i64* indices, T* out, i64 count, i64 n) { \
        gather(in, indices, out, count, n);                                             \
    }
CUPOLA_GATHER(u8, 8)
CUPOLA_GATHER(u16, 16)
CUPOLA_GATHER(u32, 32)
CUPOLA_GATHER(u64, 64)
CUPOLA_GATHER(cupola::arrays::c128, 128)
