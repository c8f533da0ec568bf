// csrc/kernels/array/words.cuh - what is done to all the narrow integers of a word at once.
#pragma once

#include "types.cuh"

namespace cupola::arrays::arithmetic {

// The highest bit of each integer of a word.
template <class S>
constexpr u32 tops = sizeof(S) == 1 ? 0x80808080u : 0x80008000u;
template <class S>
constexpr unsigned width = sizeof(S) * 8;

__device__ inline u32 choose_bits(u32 mask, u32 x, u32 y) { return (x & mask) | (y & ~mask); }

// 1 in each integer that is not 0; in each that is below it; and all bits where there is 1.
template <class S = u8>
__device__ u32 truths(u32 x) {
    return ((((x & ~tops<S>)+~tops<S>) | x) & tops<S>) >> (width<S> - 1);
}
template <class S>
__device__ u32 below_zero_in(u32 x) {
    return is_signed<S> ? (x & tops<S>) >> (width<S> - 1) : 0;
}
template <class S>
__device__ u32 filled(u32 ones) {
    return (ones << width<S>)-ones;
}

// The k-th integer of a word in float: at the bottom of 2^23 its bits are what they count.
template <class S>
__device__ float single_of(u32 x, int k) {
    constexpr float away = 8388608.0f + (is_signed<S> ? 1u << (width<S> - 1) : 0u);
    const unsigned here = sizeof(S) == 1 ? 0x7440 + k : 0x7410 + k * 0x22;
    return __uint_as_float(__byte_perm(is_signed<S> ? x ^ tops<S> : x, 0x4b000000, here)) - away;
}

// x / y of each, rounded down; of those by 0 anything. With half of one more in each, and a half
// taken away at the end, quotients are 1 / (2 |y|) and more from where they round to another
// number: far beyond the error of the reciprocal. So in 1.5 * 2^23 and they, rounded, the lowest
// bits are the results.
template <class S>
__device__ u32 floors_of_quotients(u32 x, u32 y) {
    u32 made[4 / sizeof(S)];
#pragma unroll
    for (int k = 0; k < 4 / sizeof(S); ++k) {
        float inverse;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(single_of<S>(y, k)));
        const float more = __fmaf_rn(fabsf(inverse), 0.5f, -0.5f);
        made[k] = __float_as_uint(__fmaf_rn(single_of<S>(x, k), inverse, more) + 12582912.0f);
    }
    if constexpr (sizeof(S) == 2) return __byte_perm(made[0], made[1], 0x5410);
    return __byte_perm(__byte_perm(made[0], made[1], 0x0040), __byte_perm(made[2], made[3], 0x0040),
                       0x5410);
}

// What `halves` does to two integers of 16 bits, done to the narrow integers of a word, where of
// these the highest bits alone tell what comes out: bytes are the upper parts of halves.
template <class S, class Halves>
__device__ u32 by_halves(u32 x, u32 y, Halves halves) {
    if constexpr (sizeof(S) == 2) return halves(x, y);
    return __byte_perm(halves(x << 8, y << 8), halves(x, y), 0x7351);
}

}  // namespace cupola::arrays::arithmetic
