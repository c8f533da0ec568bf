// csrc/kernels/algorithms/accumulators.cuh - sums, products and extremes, for scans and segments.
#pragma once

#include "../array/types.cuh"
#include "sort_keys.cuh"

namespace cupola::algorithms {

// Each has the types In, Total and Out, and load, combine and store. `ordered`: a result depends on
// the order of the elements in more than its rounding.
template <class I, class T, class O = I>
struct Sum {
    using In = I;
    using Total = T;
    using Out = O;
    static constexpr bool ordered = false;

    __device__ T load(I x) const { return arrays::convert<T>(x); }
    __device__ O store(T x) const { return arrays::store<O>(x); }
    __device__ T combine(T a, T b) const {
        if constexpr (arrays::is_complex<T>)
            return {a.real + b.real, a.imag + b.imag};
        else
            return a + b;
    }
};

template <class I, class T, class O = I>
struct Product {
    using In = I;
    using Total = T;
    using Out = O;
    static constexpr bool ordered = false;

    __device__ T load(I x) const { return arrays::convert<T>(x); }
    __device__ O store(T x) const { return arrays::store<O>(x); }
    __device__ T combine(T a, T b) const {
        if constexpr (arrays::is_complex<T>)
            return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
        else
            return a * b;
    }
};

// The greatest element, or the least element. In both cases a NaN wins over all numbers.
struct ExtremeSpec {
    KeyOrder order;
    u64 top;  // the greatest code of a number
    u64 least;
};

template <class K>
struct Extreme {
    using In = K;
    using Total = K;
    using Out = K;
    static constexpr bool ordered = false;

    Keys<K> keys;
    K top;
    bool least;

    __device__ explicit Extreme(const ExtremeSpec& spec)
        : keys(spec.order), top(static_cast<K>(spec.top)), least(spec.least != 0) {}

    __device__ K load(K x) const { return turned(keys.encode(x)); }
    __device__ K store(K x) const { return keys.decode(turned(x)); }
    __device__ K combine(K a, K b) const { return max(a, b); }

  private:
    __device__ K turned(K code) const {
        return least && code <= top ? static_cast<K>(top - code) : code;
    }
};

// Complex numbers in NumPy's order: by the real part, then the imaginary one; the first NaN wins.
template <class T>
struct ComplexExtreme {
    using In = T;
    using Total = T;
    using Out = T;
    static constexpr bool ordered = true;

    bool least;

    __device__ T load(T x) const { return x; }
    __device__ T store(T x) const { return x; }
    __device__ T combine(T a, T b) const {
        if (a.real != a.real || a.imag != a.imag) return a;
        if (b.real != b.real || b.imag != b.imag) return b;
        const bool less = a.real < b.real || (a.real == b.real && a.imag <= b.imag);
        return less == least ? a : b;
    }
};

// The value of lane - distance, for a type of any size.
template <class T>
__device__ T from_below(T value, int distance) {
    if constexpr (sizeof(T) < 4) {
        return static_cast<T>(__shfl_up_sync(~0u, static_cast<u32>(value), distance));
    } else {
        union Words {
            T value;
            u32 words[sizeof(T) / 4];
            __device__ Words() {}
        } all;
        all.value = value;
#pragma unroll
        for (u32& word : all.words) word = __shfl_up_sync(~0u, word, distance);
        return all.value;
    }
}

// An inclusive scan of the lanes from `first` on; lanes combine in an order that is always the
// same.
template <class Op, class T = typename Op::Total>
__device__ T scan_lanes(const Op& op, T value, int lane, int first = 0) {
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T below = from_below(value, distance);
        if (lane - distance >= first) value = op.combine(below, value);
    }
    return value;
}

}  // namespace cupola::algorithms

// For each kernel: its name, the types of elements and of results, and of the argument `spec` from
// which the accumulator is made.
#define CUPOLA_SUMS(ROW)                                                                \
    ROW(sum_bool, cupola::arrays::b8, u64, u64, Sum<cupola::arrays::b8, u64, u64>{})    \
    ROW(sum_int32, cupola::arrays::i32, u64, u64, Sum<cupola::arrays::i32, u64, u64>{}) \
    ROW(sum_int64, u64, u64, u64, Sum<u64, u64>{})                                      \
    ROW(sum_float16, cupola::arrays::f16, cupola::arrays::f16, u64,                     \
        Sum<cupola::arrays::f16, float>{})                                              \
    ROW(sum_float32, float, float, u64, Sum<float, float>{})                            \
    ROW(sum_float64, double, double, u64, Sum<double, double>{})                        \
    ROW(sum_complex64, cupola::arrays::c64, cupola::arrays::c64, u64,                   \
        Sum<cupola::arrays::c64, cupola::arrays::c64>{})                                \
    ROW(sum_complex128, cupola::arrays::c128, cupola::arrays::c128, u64,                \
        Sum<cupola::arrays::c128, cupola::arrays::c128>{})
#define CUPOLA_PRODUCTS(ROW)                                                 \
    ROW(product_int64, u64, u64, u64, Product<u64, u64>{})                   \
    ROW(product_float16, cupola::arrays::f16, cupola::arrays::f16, u64,      \
        Product<cupola::arrays::f16, float>{})                               \
    ROW(product_float32, float, float, u64, Product<float, float>{})         \
    ROW(product_float64, double, double, u64, Product<double, double>{})     \
    ROW(product_complex64, cupola::arrays::c64, cupola::arrays::c64, u64,    \
        Product<cupola::arrays::c64, cupola::arrays::c64>{})                 \
    ROW(product_complex128, cupola::arrays::c128, cupola::arrays::c128, u64, \
        Product<cupola::arrays::c128, cupola::arrays::c128>{})
#define CUPOLA_EXTREMES(ROW)                                                 \
    ROW(extreme_8, u8, u8, ExtremeSpec, Extreme<u8>(spec))                   \
    ROW(extreme_16, u16, u16, ExtremeSpec, Extreme<u16>(spec))               \
    ROW(extreme_32, u32, u32, ExtremeSpec, Extreme<u32>(spec))               \
    ROW(extreme_64, u64, u64, ExtremeSpec, Extreme<u64>(spec))               \
    ROW(extreme_complex64, cupola::arrays::c64, cupola::arrays::c64, u64,    \
        ComplexExtreme<cupola::arrays::c64>{spec != 0})                      \
    ROW(extreme_complex128, cupola::arrays::c128, cupola::arrays::c128, u64, \
        ComplexExtreme<cupola::arrays::c128>{spec != 0})
#define CUPOLA_ACCUMULATORS(ROW) CUPOLA_SUMS(ROW) CUPOLA_PRODUCTS(ROW) CUPOLA_EXTREMES(ROW)
