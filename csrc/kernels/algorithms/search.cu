// csrc/kernels/algorithms/search.cu - places of values among sorted values.
#include "../array/types.cuh"
#include "moved.cuh"

namespace cupola::algorithms {

using arrays::Complex;

// NumPy's order: NaN is last.
template <class T>
__device__ bool less(T a, T b) {
    if constexpr (arrays::is_real<T>)
        return a < b || (b != b && a == a);
    else
        return a < b;
}
__device__ inline bool less(arrays::f16 a, arrays::f16 b) {
    return less(arrays::widen(a), arrays::widen(b));
}
template <class R>
__device__ bool less(Complex<R> a, Complex<R> b) {
    const bool a_nan = a.imag != a.imag, b_nan = b.imag != b.imag;
    if (a.real < b.real) return !a_nan || b_nan;
    if (a.real > b.real) return b_nan && !a_nan;
    if (a.real == b.real || (a.real != a.real && b.real != b.real)) return less(a.imag, b.imag);
    return b.real != b.real;
}

// The first of `count` numbers for which `after` holds; `after` also holds for all later numbers.
template <class After>
__device__ i64 first_of(i64 count, After after) {
    i64 low = 0, high = count;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (after(middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

template <class T>
__device__ void search(const T* __restrict__ sorted, const T* __restrict__ values,
                       const i64* __restrict__ sorter, i64* __restrict__ out, i64 count, i64 n,
                       int right) {
#pragma unroll 1
    for (i64 p = first<i64>(); p < n; p += threads<i64>()) {
        const T value = values[p];
        out[p] = first_of(count, [&](i64 k) {
            const T other = sorted[sorter ? sorter[k] : k];
            return right ? less(value, other) : !less(other, value);
        });
    }
}

template <class T>
__device__ bool differ(T a, T b, bool equal_nan) {
    if constexpr (std::is_same_v<T, arrays::f16>)
        return differ(arrays::widen(a), arrays::widen(b), equal_nan);
    else if constexpr (arrays::is_complex<T>) {
        const bool a_nan = a.real != a.real || a.imag != a.imag;
        const bool b_nan = b.real != b.real || b.imag != b.imag;
        return (a.real != b.real || a.imag != b.imag) && !(equal_nan && a_nan && b_nan);
    } else
        return a != b && !(equal_nan && a != a && b != b);
}

// Flags each element that is the first of equal elements. A thread flags four adjacent elements,
// where it can.
template <class T>
__device__ void find_changes(const T* __restrict__ sorted, std::uint8_t* __restrict__ flags, i64 n,
                             int equal_nan) {
    const auto flag = [&](i64 p) {
        return p == 0 || differ(sorted[p - 1], sorted[p], equal_nan != 0);
    };
    const bool aligned = reinterpret_cast<std::uintptr_t>(flags) % 4 == 0;
#pragma unroll 1
    for (i64 p = 4 * first<i64>(); p < n; p += 4 * threads<i64>()) {
        if (!aligned || n - p < 4) {
            for (i64 k = p; k < n && k < p + 4; k++) flags[k] = flag(k);
            continue;
        }
        u32 set = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) set |= static_cast<u32>(flag(p + j)) << (8 * j);
        *reinterpret_cast<u32*>(flags + p) = set;
    }
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_SEARCHED(T)                                                                        \
    extern "C" __global__ void search_sorted_##T(const cupola::arrays::T* sorted,                 \
                                                 const cupola::arrays::T* values,                 \
                                                 const std::int64_t* sorter, std::int64_t* out,   \
                                                 std::int64_t count, std::int64_t n, int right) { \
        search<cupola::arrays::T>(sorted, values, sorter, out, count, n, right);                  \
    }                                                                                             \
    extern "C" __global__ void search_changes_##T(                                                \
        const cupola::arrays::T* sorted, std::uint8_t* flags, std::int64_t n, int equal_nan) {    \
        find_changes<cupola::arrays::T>(sorted, flags, n, equal_nan);                             \
    }
CUPOLA_SEARCHED(i8)
CUPOLA_SEARCHED(i16)
CUPOLA_SEARCHED(i32)
CUPOLA_SEARCHED(i64)
CUPOLA_SEARCHED(u8)
CUPOLA_SEARCHED(u16)
CUPOLA_SEARCHED(u32)
CUPOLA_SEARCHED(u64)
CUPOLA_SEARCHED(f16)
CUPOLA_SEARCHED(f32)
CUPOLA_SEARCHED(f64)
CUPOLA_SEARCHED(c64)
CUPOLA_SEARCHED(c128)

// The element that each place of a repetition has: the number of ends that are not above the place.
extern "C" __global__ void search_repeats(const std::int64_t* ends, std::int64_t* out,
                                          std::int64_t count, std::int64_t n) {
#pragma unroll 1
    for (std::int64_t p = first<std::int64_t>(); p < n; p += threads<std::int64_t>())
        out[p] = first_of(count, [&](std::int64_t k) { return ends[k] > p; });
}
