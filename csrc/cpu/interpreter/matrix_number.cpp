// csrc/cpu/interpreter/matrix_number.cpp - layouts of floats; packs numbers into them.
#include "cpu/interpreter/matrix_number.hpp"

namespace cupola::cpu::interpreter {

using ptx::Element;

FloatLayout layout_of(Element e) {
    switch (e) {
        case Element::f16:
            return {5, 10};
        case Element::bf16:
            return {8, 7};
        case Element::tf32:
            return {8, 10, 13};
        case Element::e4m3:
            return {4, 3};
        case Element::e5m2:
            return {5, 2};
        case Element::e2m1:
            return {2, 1, 2};
        case Element::packed_e2m1:
            return {2, 1};
        case Element::e2m3:
            return {2, 3};
        case Element::e3m2:
            return {3, 2};
        default:
            return {8, 23};
    }
}

Number normalised(Number x, const FloatLayout& l) {
    if (x.mantissa == 0) return x;
    const auto magnitude = static_cast<std::uint32_t>(x.mantissa < 0 ? -x.mantissa : x.mantissa);
    const int by = l.mantissa - (31 - __builtin_clz(magnitude));
    x.mantissa *= 1 << by;
    x.exponent -= by;
    return x;
}

std::uint64_t pack(bool negative, std::uint64_t magnitude, int exponent, const FloatLayout& l,
                   bool nearest) {
    if (magnitude == 0) return 0;
    const int top = (1 << l.exponent) - 1, bias = top >> 1;
    const int high = 63 - __builtin_clzll(magnitude) + exponent;  // of the leading bit
    const int least = 1 - bias;
    const int field = high < least ? 0 : high + bias;
    const int drop = (high < least ? least : high) - l.mantissa - exponent;
    std::uint64_t kept = 0;
    if (drop <= 0) {
        kept = magnitude << -drop;
    } else if (drop <= 63) {
        kept = magnitude >> drop;
        const std::uint64_t rest = magnitude & ((std::uint64_t{1} << drop) - 1);
        const std::uint64_t half = std::uint64_t{1} << (drop - 1);
        if (nearest && (rest > half || (rest == half && (kept & 1)))) ++kept;
    }
    if (kept == 0) return 0;  // no negative zero
    // The leading bit of a normal number adds one to the exponent field, a carry one more.
    kept += static_cast<std::uint64_t>(field > 0 ? field - 1 : 0) << l.mantissa;
    const auto infinity = static_cast<std::uint64_t>(top) << l.mantissa;
    return std::uint64_t{negative} << (l.exponent + l.mantissa) |
           (kept > infinity ? infinity : kept);
}

}  // namespace cupola::cpu::interpreter
