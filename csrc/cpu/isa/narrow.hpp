// csrc/cpu/isa/narrow.hpp - converts f16 and bf16 to double and back, with every rounding.
#pragma once

#include <cstring>

#include "cpu/isa/lanes.hpp"
#include "cpu/isa/vector.hpp"

namespace cupola::cpu::CUPOLA_ISA {

template <class T>
struct Layout;
template <>
struct Layout<Half> {
    static constexpr int mantissa = 10, bias = 15, top = 31;
};
template <>
struct Layout<BFloat16> {
    static constexpr int mantissa = 7, bias = 127, top = 255;
};

// Keeps a signalling NaN. Conversion to double and back would quiet it, and compilers may omit
// that.
inline float widen_to_float(BFloat16 x) {
    const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
    float f = 0;
    std::memcpy(&f, &bits, sizeof f);
    return f;
}
inline double widen(BFloat16 x) { return widen_to_float(x); }

inline float widen_to_float(Half x) {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
    const std::uint32_t rest = x.bits & 0x7fff;
    // Normal numbers add 112 to the exponent; denormals are exact products.
    const std::uint32_t normal = (rest << 13) + (112u << 23);
    const std::uint32_t special = 0x7f800000u | (rest & 0x3ff) << 13;
    const float tiny = static_cast<float>(rest) * 5.9604644775390625e-08f;
    std::uint32_t denormal = 0;
    std::memcpy(&denormal, &tiny, sizeof tiny);
    const std::uint32_t bits = sign | (rest >= 0x7c00 ? special : rest < 0x400 ? denormal : normal);
    float f = 0;
    std::memcpy(&f, &bits, sizeof f);
    return f;
}
inline double widen(Half x) { return widen_to_float(x); }

// Rounds to nearest. It has no branches, so that compilers vectorize loops over lanes.
template <class T>
inline T narrow_to_nearest(double x) {
    using L = Layout<T>;
    constexpr int drop = 52 - L::mantissa;
    constexpr std::uint64_t infinity = static_cast<std::uint64_t>(L::top) << L::mantissa;
    // The bits of the least normal narrow number as a double, with the exponent reduced by one.
    constexpr std::uint64_t rebias = static_cast<std::uint64_t>(1023 - L::bias) << 52;
    constexpr std::uint64_t least = rebias + (std::uint64_t{1} << 52);
    // The double whose last place is the last place of denormal narrow numbers: an addition of this
    // double rounds to that place.
    constexpr std::uint64_t denormal_scale =
        static_cast<std::uint64_t>(1023 + 1 - L::bias - L::mantissa + 52) << 52;
    std::uint64_t bits, sum_bits;
    std::memcpy(&bits, &x, sizeof bits);
    const std::uint64_t sign = bits >> 63 << 15, magnitude = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t normal = magnitude - rebias;
    std::uint64_t made =
        (normal + (std::uint64_t{1} << (drop - 1)) - 1 + (normal >> drop & 1)) >> drop;
    made = static_cast<std::int64_t>(made) < static_cast<std::int64_t>(infinity) ? made : infinity;
    double scale, sum;
    std::memcpy(&scale, &denormal_scale, sizeof scale);
    std::memcpy(&sum, &magnitude, sizeof sum);
    sum += scale;
    std::memcpy(&sum_bits, &sum, sizeof sum);
    const auto less = [](std::uint64_t a, std::uint64_t b) {
        return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    };
    made = less(magnitude, least) ? sum_bits - denormal_scale : made;
    constexpr std::uint64_t infinite = std::uint64_t{0x7ff} << 52;
    return T{static_cast<std::uint16_t>(less(infinite, magnitude) ? 0x7fff : made | sign)};
}

// The conversion for vectors of floats, by the processor's instructions, which give other NaN.
template <unsigned N>
VectorOf<float, 4 * N> widen_to_float(ShortVector<Half, N> x) {
    return floats_of_halves<VectorOf<float, 4 * N>>(x.bits);
}
template <unsigned N>
VectorOf<float, 4 * N> widen_to_float(ShortVector<BFloat16, N> x) {
    return VectorOf<float, 4 * N>(converted<VectorOf<std::uint32_t, 4 * N>>(x.bits) << 16);
}
template <unsigned N>
void narrow_to_nearest(ShortVector<Half, N>& d, VectorOf<float, 4 * N> x) {
    using Signed = VectorOf<std::int16_t, 2 * N>;
    const auto bits = halves_of_floats(x);
    d.bits = Signed(bits & 0x7fff) > 0x7c00 ? decltype(bits){} + 0x7fff : bits;
}
template <unsigned N>
void narrow_to_nearest(ShortVector<BFloat16, N>& d, VectorOf<float, 4 * N> x) {
    using Bits = VectorOf<std::uint32_t, 4 * N>;
    const auto bits = Bits(x);
    const Bits rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    d.bits = converted<VectorOf<std::uint16_t, 2 * N>>(x == x ? rounded : Bits{} + 0x7fff);
}

// The only rounding of a double to a narrow float. NaN becomes the canonical one.
template <class T>
T narrow(double x, ptx::Round round) {
    using L = Layout<T>;
    if (round != ptx::Round::rz && round != ptx::Round::rm && round != ptx::Round::rp)
        return narrow_to_nearest<T>(x);
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const auto sign = static_cast<std::uint32_t>(bits >> 63) << 15;
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffffu;
    constexpr std::uint32_t infinity = static_cast<std::uint32_t>(L::top) << L::mantissa;
    if (exponent == 0x7ff)
        return T{static_cast<std::uint16_t>(fraction ? 0x7fff : sign | infinity)};
    if (exponent == 0) {  // the number is zero, or far below the least narrow float
        const bool up = fraction != 0 && (sign ? round == ptx::Round::rm : round == ptx::Round::rp);
        return T{static_cast<std::uint16_t>(sign | (up ? 1u : 0u))};
    }
    int to = exponent - 1023 + L::bias;  // the biased exponent of the result
    std::uint64_t mantissa = fraction | std::uint64_t{1} << 52;
    int drop = 52 - L::mantissa;
    if (to <= 0) {
        drop += 1 - to;
        to = 0;
        if (drop > 62) {
            drop = 62;
        }
    }
    const std::uint64_t kept = mantissa >> drop;
    const std::uint64_t rest = mantissa & ((std::uint64_t{1} << drop) - 1);
    const bool up = rest != 0 && (sign ? round == ptx::Round::rm : round == ptx::Round::rp);
    // The hidden bit of a normal number adds one to the exponent field, a carry one more.
    std::uint64_t made = kept + up;
    made += static_cast<std::uint64_t>(to > 0 ? to - 1 : 0) << L::mantissa;
    if (made >= infinity) {
        const bool to_infinity = sign ? round == ptx::Round::rm : round == ptx::Round::rp;
        made = to_infinity ? infinity : infinity - 1;
    }
    return T{static_cast<std::uint16_t>(sign | made)};
}

// Directed roundings are rare, so one function has them all. Truncation has its own function,
// because compilers vectorize it.
template <class T>
[[gnu::noinline]] T narrow_directed(double x, ptx::Round round) {
    return narrow<T>(x, round);
}
template <class T, ptx::Round R>
T narrow_by(double x) {
    if constexpr (R == ptx::Round::rn || R == ptx::Round::rz)
        return narrow<T>(x, R);
    else
        return narrow_directed<T>(x, R);
}

}  // namespace cupola::cpu::CUPOLA_ISA
