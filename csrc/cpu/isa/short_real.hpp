// csrc/cpu/isa/short_real.hpp - arithmetic on f16 and bf16 in a wider type.
#pragma once

#include <cstring>
#include <limits>

#include "cpu/isa/narrow.hpp"

namespace cupola::cpu::CUPOLA_ISA {

template <class To, class From>
To bit_cast(From x) {
    To to;
    static_assert(sizeof to == sizeof x);
    std::memcpy(&to, &x, sizeof to);
    return to;
}

// f16 and bf16 compute in double, exactly or rounded to odd, so that only one rounding remains.
template <class T>
constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class M, class T>
double short_input(T x) {
    const double v = widen(x);
    if constexpr (M::ftz && std::is_same_v<T, Half>)
        return __builtin_fabs(v) < 6.103515625e-05 ? __builtin_copysign(0.0, v) : v;
    return v;
}
template <class M, class T>
T short_finished(double x) {
    if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
    if constexpr (M::relu) x = x <= 0 ? 0 : x;  // -0 becomes +0
    if constexpr (M::ftz && std::is_same_v<T, Half>)
        x = __builtin_fabs(widen(narrow<T>(x * 1024, ptx::Round::rn))) < 0.0625
                ? __builtin_copysign(0.0, x)
                : x;
    return narrow<T>(x, ptx::Round::rn);
}

// Vectors of narrow floats compute in float. A sum or a product of two f16, and a sum of two bf16,
// are then rounded twice without harm: float has more than twice their digits, and holds each of
// their denormal results. A product of two bf16 may be below float's range.
template <class M>
inline constexpr bool is_of_f16 = M::type == Type::f16 || M::type == Type::f16x2;
template <class M>
inline constexpr bool is_of_bf16 = M::type == Type::bf16 || M::type == Type::bf16x2;

template <class M, class T, unsigned N>
VectorOf<float, 4 * N> short_input(ShortVector<T, N> x) {
    if constexpr (M::ftz && std::is_same_v<T, Half>)
        x.bits = (x.bits & 0x7c00) != 0 ? x.bits : x.bits & 0x8000;
    return widen_to_float(x);
}
template <class M, class T, unsigned N>
void finish_short(ShortVector<T, N>& d, VectorOf<float, 4 * N> x) {
    using V = VectorOf<float, 4 * N>;
    using Bits = VectorOf<std::uint32_t, 4 * N>;
    if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : V{} + 1) : V{};
    if constexpr (M::relu) x = x <= 0 ? V{} : x;  // -0 becomes +0
    if constexpr (M::ftz && std::is_same_v<T, Half>) {
        // The least number that rounds to a normal one, as if the exponent range were unbounded.
        constexpr float least = 0x1p-14f - 0x1p-26f;
        const Bits sign = Bits(x) & 0x80000000u;
        x = V(Bits(x) - sign) < least ? V(sign) : x;
    }
    narrow_to_nearest(d, x);
}

// a * b is exact in double for narrow operands; the sum is rounded to odd.
inline double fma_to_odd(double a, double b, double c) {
    const double p = a * b, s = p + c;
    const double t = s - p, e = (p - (s - t)) + (c - t);
    const auto bits = bit_cast<std::uint64_t>(s);
    const std::uint64_t odd = (bits - ((e > 0) != (s > 0) ? 1 : 0)) | 1;
    const bool exact = e == 0 || !(__builtin_fabs(s) < std::numeric_limits<double>::infinity());
    return bit_cast<double>(exact ? bits : odd);
}
// fma_to_odd for vectors of floats. A product of two f16 values is exact in float.
template <class V>
V fma_to_odd(V a, V b, V c) {
    using Bits = VectorOf<std::uint32_t, sizeof(V)>;
    const V p = a * b, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);
    const auto above = Bits(e > 0), below = Bits(e < 0);  // no lane where s is not finite
    const Bits inexact = above | below;
    return V((Bits(s) + ((above ^ Bits(s > 0)) & inexact)) | (inexact & 1));
}

}  // namespace cupola::cpu::CUPOLA_ISA
