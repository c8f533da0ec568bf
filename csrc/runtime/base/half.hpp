// csrc/runtime/base/half.hpp - converts between double and two-byte floats, rounding once.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace cupola {

// Rounds to nearest even. The format stores `mantissa` bits; its exponents go from `lowest` (of the
// smallest normal number) to -lowest + 1.
inline std::uint16_t to_small_float(double value, int mantissa, int lowest) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const std::uint16_t infinity = static_cast<std::uint16_t>(0x7fff >> mantissa << mantissa);
    if (std::isnan(value))
        return static_cast<std::uint16_t>(sign | infinity | 1u << (mantissa - 1));
    const double magnitude = std::fabs(value);
    if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
    if (magnitude == 0) return sign;
    int exponent = std::ilogb(magnitude);
    if (exponent < lowest) exponent = lowest;
    if (exponent > 1 - lowest) return static_cast<std::uint16_t>(sign | infinity);
    // Scale to units of the last place, which is exact, then round once. A carry into the exponent
    // gives the correct result.
    const auto units =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa - exponent)));
    const std::uint32_t bits = (static_cast<std::uint32_t>(exponent - lowest) << mantissa) + units;
    return static_cast<std::uint16_t>(sign | (bits < infinity ? bits : infinity));
}

inline std::uint16_t to_float16(double value) { return to_small_float(value, 10, -14); }
inline std::uint16_t to_bfloat16(double value) { return to_small_float(value, 7, -126); }

inline double from_float16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                             : exponent     ? std::ldexp(fraction + 1024, exponent - 25)
                                            : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace cupola
