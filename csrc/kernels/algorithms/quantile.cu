// csrc/kernels/algorithms/quantile.cu - elements and means of sorted rows.
#include "../array/types.cuh"
#include "../constants.h"
#include "sort_keys.cuh"

using namespace cupola::algorithms;
using namespace cupola::constants;
namespace arrays = cupola::arrays;

namespace {

constexpr int most = quantile_most;

// Result i of a row combines its elements `low` and `high`. The weight -1 is their mean, and -2 is
// the element `low`.
struct Quantiles {
    i64 low[most], high[most];
    double weight[most];
};

// Each operation rounds, as NumPy's do.
__device__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ float multiply(float a, float b) { return __fmul_rn(a, b); }

// S: the type of elements, R: the type of the operations, O: the type of the result.
template <class S, class R, class O>
__device__ R rounded(R x) {
    if constexpr (std::is_same_v<S, O>)
        return arrays::convert<R>(arrays::store<O>(x));
    else
        return x;
}

template <class S, class R, class O>
__device__ R between(S low, S high, double weight) {
    const R a = arrays::convert<R>(low), b = arrays::convert<R>(high);
    if (weight < -1) return a;
    if (weight == -1) return multiply(add(a, b), static_cast<R>(0.5));
    R difference;
    if constexpr (std::is_integral_v<S>)
        difference = static_cast<R>(static_cast<std::conditional_t<(S(-1) < 0), i64, u64>>(
            static_cast<u64>(high) - static_cast<u64>(low)));
    else if constexpr (std::is_same_v<S, arrays::f16>)
        difference = arrays::widen(arrays::store<S>(arrays::widen(high) - arrays::widen(low)));
    else
        difference = static_cast<R>(high - low);
    const bool upper = weight >= 0.5;
    const R factor = rounded<S, R, O>(static_cast<R>(upper ? 1 - weight : weight));
    const R product = rounded<S, R, O>(multiply(difference, factor));
    return upper ? add(b, -product) : add(a, product);
}

template <class S, class R, class O>
__device__ void combine_elements(const S* sorted, O* out, i64 rows, i64 n, int count,
                                 const Quantiles& quantiles) {
    const i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= rows * count) return;
    const int i = static_cast<int>(at / rows);
    const S* row = sorted + at % rows * n;
    const R last = arrays::convert<R>(row[n - 1]);
    out[at] = arrays::store<O>(
        last != last
            ? last
            : between<S, R, O>(row[quantiles.low[i]], row[quantiles.high[i]], quantiles.weight[i]));
}

// Copies the elements `low` of each row, or a NaN where the row has a NaN.
template <class K>
__device__ void pick_elements(const K* sorted, K* out, i64 rows, i64 n, int count,
                              const Quantiles& quantiles, K infinity) {
    const i64 at = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= rows * count) return;
    const K* row = sorted + at % rows * n;
    const K last = row[n - 1];
    const bool is_nan = infinity && static_cast<K>(last << 1) > static_cast<K>(infinity << 1);
    out[at] = is_nan ? last : row[quantiles.low[at / rows]];
}

}  // namespace

#define CUPOLA_COMBINE(name, S, R, O)                                                              \
    extern "C" __global__ void __launch_bounds__(quantile_threads)                                 \
        quantile_##name(const arrays::S* sorted, arrays::O* out, i64 rows, i64 n, int count,       \
                        Quantiles quantiles) {                                                     \
        combine_elements<arrays::S, arrays::R, arrays::O>(sorted, out, rows, n, count, quantiles); \
    }
#define CUPOLA_PICK(K, bits)                                                                    \
    extern "C" __global__ void __launch_bounds__(quantile_threads) quantile_pick_##bits(        \
        const K* sorted, K* out, i64 rows, i64 n, int count, Quantiles quantiles, K infinity) { \
        pick_elements(sorted, out, rows, n, count, quantiles, infinity);                        \
    }

CUPOLA_COMBINE(int8, i8, f64, f64)
CUPOLA_COMBINE(int16, i16, f64, f64)
CUPOLA_COMBINE(int32, i32, f64, f64)
CUPOLA_COMBINE(int64, i64, f64, f64)
CUPOLA_COMBINE(uint8, u8, f64, f64)
CUPOLA_COMBINE(uint16, u16, f64, f64)
CUPOLA_COMBINE(uint32, u32, f64, f64)
CUPOLA_COMBINE(uint64, u64, f64, f64)
CUPOLA_COMBINE(float16, f16, f32, f16)
CUPOLA_COMBINE(float16_float64, f16, f64, f64)
CUPOLA_COMBINE(float32, f32, f32, f32)
CUPOLA_COMBINE(float32_float64, f32, f64, f64)
CUPOLA_COMBINE(float64, f64, f64, f64)
CUPOLA_PICK(u8, 8)
CUPOLA_PICK(u16, 16)
CUPOLA_PICK(u32, 32)
CUPOLA_PICK(u64, 64)
