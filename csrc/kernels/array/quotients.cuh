// csrc/kernels/array/quotients.cuh - quotients of all narrow integers of a word.
//
// Integers are multiplied by the divisors' reciprocals as real numbers: two bytes at a time in
// halves, one 16-bit integer at a time in floats. All values are integers except for the estimate.
#pragma once

#include "words.cuh"

namespace cupola::arrays::arithmetic {

__device__ inline u32 add_halves(u32 x, u32 y) {
    u32 sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
    return sum;
}
__device__ inline u32 fma_halves(u32 x, u32 y, u32 z) {
    u32 result;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));
    return result;
}
__device__ inline u32 negative_halves(u32 x) {
    u32 result;
    asm("neg.f16x2 %0, %1;" : "=r"(result) : "r"(x));
    return result;
}
// 1 if x >= y, otherwise 0.
__device__ inline u32 at_least_halves(u32 x, u32 y) {
    u32 result;
    asm("set.ge.f16x2.f16x2 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(y));
    return result;
}
__device__ inline float inverse_of(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}
__device__ inline u32 inverses_of_halves(u32 x) {
    u32 result;
    asm("{\n\t"
        ".reg .b16 a, b;\n\t"
        ".reg .f32 p, q;\n\t"
        "mov.b32 {a, b}, %1;\n\t"
        "cvt.f32.f16 p, a;\n\t"
        "cvt.f32.f16 q, b;\n\t"
        "rcp.approx.ftz.f32 p, p;\n\t"
        "rcp.approx.ftz.f32 q, q;\n\t"
        "cvt.rn.f16.f32 a, p;\n\t"
        "cvt.rn.f16.f32 b, q;\n\t"
        "mov.b32 %0, {a, b};\n\t"
        "}"
        : "=r"(result)
        : "r"(x));
    return result;
}

// Reals that hold integers of type S: two halves for bytes, or one float. With `whole` added, the
// lowest bits are the integer.
template <class S, int = sizeof(S)>
struct Real;
template <class S>
struct Real<S, 1> {
    static constexpr u32 signs = is_signed<S> ? 0x80008000u : 0, whole = 0x66006600u;  // 1536
    // The bytes 2 * at and 2 * at + 1 of a word: each becomes 1024 + byte, then 1024 is subtracted.
    __device__ static u32 of(u32 word, int at) {
        const u32 more =
            __byte_perm(is_signed<S> ? word ^ tops<S> : word, 0x64, 0x4140 + 0x202 * at);
        return add_halves(more, is_signed<S> ? 0xe480e480u : 0xe400e400u);
    }
    __device__ static u32 add(u32 x, u32 y) { return add_halves(x, y); }
    __device__ static u32 join(u32 low, u32 high) { return __byte_perm(low, high, 0x6420); }
};
template <class S>
struct Real<S, 2> {
    static constexpr u32 signs = is_signed<S> ? 0x80000000u : 0, whole = 0x4b400000u;  // 1.5 * 2^23
    // In a float of 2^23 + n, the lowest bits are n.
    __device__ static u32 of(u32 word, int at) {
        constexpr float away = 8388608.0f + (is_signed<S> ? 32768.0f : 0.0f);
        const u32 more =
            __byte_perm(is_signed<S> ? word ^ tops<S> : word, 0x4b000000, 0x7410 + 0x22 * at);
        return __float_as_uint(__uint_as_float(more) - away);
    }
    __device__ static u32 add(u32 x, u32 y) {
        return __float_as_uint(__uint_as_float(x) + __uint_as_float(y));
    }
    __device__ static u32 join(u32 low, u32 high) { return __byte_perm(low, high, 0x5410); }
};

// x / y for y > 0, rounded down, with `whole` added, and the remainder. For y = 0 any value.
struct Divided {
    u32 quotient, rest;
};
template <class S>
__device__ Divided divided(u32 x, u32 y) {
    using R = Real<S>;
    if constexpr (sizeof(S) == 1) {
        // Estimates up to 256 are off by at most 0.19. An estimate minus 0.75, rounded, is exact or
        // 1 too small; the remainder shows which.
        const u32 about = fma_halves(x, inverses_of_halves(y), 0xba00ba00u);
        const u32 less = R::add(about, R::whole);
        const u32 rest = fma_halves(negative_halves(R::add(less, 0xe600e600u)), y, x);
        const u32 more = at_least_halves(rest, y);
        return {R::add(less, more), fma_halves(negative_halves(more), y, rest)};
    } else {
        // Adding 1/2 to x and subtracting 1/2 at the end keeps the result at least 1 / (2 y) away
        // from a rounding boundary. The error of the reciprocal is far smaller.
        const float divisor = __uint_as_float(y), inverse = inverse_of(divisor);
        const float about = __fmaf_rn(__uint_as_float(x), inverse, __fmaf_rn(inverse, 0.5f, -0.5f));
        const float quotient = about + __uint_as_float(R::whole);
        const float rest =
            __fmaf_rn(__uint_as_float(R::whole) - quotient, divisor, __uint_as_float(x));
        return {__float_as_uint(quotient), __float_as_uint(rest)};
    }
}

// Applies `part` to each x and y as reals of this form; the result is 0 if y is 0.
template <class S, class Part>
__device__ u32 of_quotients(u32 x, u32 y, Part part) {
    using R = Real<S>;
    const u32 low = part(R::of(x, 0), R::of(y, 0)), high = part(R::of(x, 1), R::of(y, 1));
    return R::join(low, high) & filled_where_not_0<S>(y);
}

template <class S>
__device__ u32 floors_of_quotients(u32 x, u32 y) {
    return of_quotients<S>(x, y, [](u32 a, u32 b) {
        const u32 sign = b & Real<S>::signs;
        return divided<S>(a ^ sign, b ^ sign).quotient;
    });
}
// The remainders: with the sign of y, and with the sign of x.
template <class S>
__device__ u32 rests_of_floors(u32 x, u32 y) {
    return of_quotients<S>(x, y, [](u32 a, u32 b) {
        const u32 sign = b & Real<S>::signs;
        return Real<S>::add(divided<S>(a ^ sign, b ^ sign).rest ^ sign, Real<S>::whole);
    });
}
template <class S>
__device__ u32 rests_of_quotients(u32 x, u32 y) {
    return of_quotients<S>(x, y, [](u32 a, u32 b) {
        const u32 sign = a & Real<S>::signs;
        return Real<S>::add(divided<S>(a ^ sign, b & ~Real<S>::signs).rest ^ sign, Real<S>::whole);
    });
}

}  // namespace cupola::arrays::arithmetic
