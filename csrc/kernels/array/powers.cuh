// csrc/kernels/array/powers.cuh - powers of integers, and of all narrow integers of a word.
#pragma once

#include "words.cuh"

namespace cupola::arrays::arithmetic {

// Predicated assembly: the compiler would select a factor, which is one more instruction.
__device__ inline void multiply_if(u32 is_so, u32& product, u32 factor) {
    asm("{\n\t"
        ".reg .pred so;\n\t"
        "setp.ne.u32 so, %1, 0;\n\t"
        "@so mul.lo.u32 %0, %0, %2;\n\t"
        "}"
        : "+r"(product)
        : "r"(is_so), "r"(factor));
}
__device__ inline void multiply_if(u32 is_so, u64& product, u64 factor) {
    asm("{\n\t"
        ".reg .pred so;\n\t"
        ".reg .b32 low, high, other_low, other_high, middle;\n\t"
        ".reg .b64 wide;\n\t"
        "setp.ne.u32 so, %1, 0;\n\t"
        "mov.b64 {low, high}, %0;\n\t"
        "mov.b64 {other_low, other_high}, %2;\n\t"
        "mul.lo.u32 middle, low, other_high;\n\t"
        "mad.lo.u32 middle, high, other_low, middle;\n\t"
        "mul.wide.u32 wide, low, other_low;\n\t"
        "@so mov.b64 {low, high}, wide;\n\t"
        "@so add.u32 high, high, middle;\n\t"
        "mov.b64 %0, {low, high};\n\t"
        "}"
        : "+l"(product)
        : "r"(is_so), "l"(factor));
}

__device__ inline u32 squared(u32 x) { return x * x; }
// Two products; the compiler would use three.
__device__ inline u64 squared(u64 x) {
    u64 square;
    asm("{\n\t"
        ".reg .b32 low, high, below, above;\n\t"
        "mov.b64 {low, high}, %1;\n\t"
        "mul.wide.u32 %0, low, low;\n\t"
        "mov.b64 {below, above}, %0;\n\t"
        "shl.b32 high, high, 1;\n\t"
        "mad.lo.u32 above, low, high, above;\n\t"
        "mov.b64 %0, {below, above};\n\t"
        "}"
        : "=l"(square)
        : "l"(x));
    return square;
}

// x to the power of y, modulo 2^32 or 2^64. The lowest 8 bits of y use repeated squaring. The rest
// is a power of s = x^256, by more squaring modulo 2^64. Modulo 2^32 there is a shortcut: for an
// even x the power is 0 or 1. For an odd x, s - 1 is a multiple of 2^10, so the binomial series of
// (1 + (s - 1))^rest has only four terms.
template <class T>
__device__ T wrapped_power(T x, T y) {
    const auto bits = static_cast<u32>(y);
    T result = bits & 1 ? x : 1, s = x;
#pragma unroll
    for (unsigned bit = 1; bit < 8; ++bit) {
        s = squared(s);
        multiply_if(bits & 1u << bit, result, s);
    }
    T rest = y >> 8;
    if constexpr (sizeof(T) == sizeof(u64)) {
        for (; rest != 0; rest >>= 1) {
            s = squared(s);
            if (rest & 1) result *= s;
        }
        return result;
    } else {
        const T over = squared(s) - 1, pairs = rest * (rest - 1) >> 1;
        T factor = over * rest + 1 + over * over * pairs;
        factor += over * over * over * (pairs * (rest - 2) * 0xaaaaaaabu);  // 0xaaaaaaab is 1/3
        if (!(x & 1)) factor = rest == 0;
        return result * factor;
    }
}

// Powers of the narrow integers of a word, without extracting them: in a product, higher
// integers only affect higher bits. The lowest 4 bits of y (2 for bytes) use repeated squaring, and
// the series has three terms (two for bytes). An even x to the power of its width is 0.
template <class S>
__device__ u32 wrapped_powers(u32 x, u32 y) {
    constexpr bool bytes = sizeof(S) == 1;
    constexpr unsigned low = bytes ? 2 : 4, count = sizeof(u32) / sizeof(S);
    const u32 rests = y >> low & (bytes ? 0x3f3f3f3fu : 0x0fff0fffu);
    u32 power[count];
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
        const u32 first = x >> width<S> * k;
        u32 square[low] = {first};
#pragma unroll
        for (unsigned bit = 1; bit < low; ++bit) square[bit] = square[bit - 1] * square[bit - 1];
        const u32 over = square[low - 1] * square[low - 1] - 1;
        const u32 rest = bytes ? rests >> 8 * k : __byte_perm(rests, 0, 0x4410 + k * 0x22);
        u32 product = over * rest + 1;
        if (!bytes) product += over * over * (rest * (rest - 1) >> 1);
#pragma unroll
        for (unsigned bit = 0; bit < low; ++bit)
            multiply_if(y & 1u << (width<S> * k + bit), product, square[bit]);
        power[k] = product;
    }
    u32 all = __byte_perm(power[0], power[1], bytes ? 0x40 : 0x5410);
    if (bytes) all = __byte_perm(all, __byte_perm(power[2], power[count - 1], 0x40), 0x5410);
    const u32 many = y & (bytes ? 0xf8f8f8f8u : 0xfff0fff0u);
    return all & (below_zero_everywhere<S>(x << (width<S> - 1)) | ~filled_where_not_0<S>(many));
}

}  // namespace cupola::arrays::arithmetic
