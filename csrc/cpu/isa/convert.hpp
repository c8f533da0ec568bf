// csrc/cpu/isa/convert.hpp - cvt: the conversion of one lane.
#pragma once

#include "cpu/isa/integer.hpp"
#include "cpu/isa/real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct ConvertInteger {
    template <class M>
    static constexpr bool mixes = !M::sat;
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (M::sat) {
            using W = __int128;
            const W x = a, low = std::numeric_limits<D>::min(),
                    high = std::numeric_limits<D>::max();
            d = static_cast<D>(x < low ? low : x > high ? high : x);
        } else {
            d = converted<D>(a);
        }
    }
};

// An integer as a double, with a sticky bit, so that rounding to any narrower float is exact.
template <class S>
double sticky_double(S a) {
    const bool negative = a < S(0) + 0;
    std::uint64_t m = static_cast<std::uint64_t>(a);
    if (negative) m = 0 - m;
    double x;
    if (m >> 53)
        x = static_cast<double>(static_cast<std::int64_t>(m >> 11 | ((m & 0x7ff) != 0))) * 2048.0;
    else
        x = static_cast<double>(static_cast<std::int64_t>(m));
    return negative ? -x : x;
}

struct IntegerToReal {
    template <class M>
    static constexpr bool mixes = !M::sat && ptx::bytes_of(M::type) >= 4;
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (is_short<D>) {
            double x = sticky_double(a);
            if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
            d = narrow_by<D, M::round>(x);
        } else if constexpr (M::sat) {
            const D x = static_cast<D>(a);
            d = x > D(0) ? (x < D(1) ? x : D(1)) : D(0);
        } else {
            d = converted<D>(a);
        }
    }
};

template <ptx::Round R, class T>
T integral(T x) {
    using Op = ptx::Round;
    if constexpr (sizeof(T) == 4) {
        if (R == Op::rzi) return __builtin_truncf(x);
        if (R == Op::rmi) return __builtin_floorf(x);
        if (R == Op::rpi) return __builtin_ceilf(x);
        return __builtin_nearbyintf(x);
    } else {
        if (R == Op::rzi) return __builtin_trunc(x);
        if (R == Op::rmi) return __builtin_floor(x);
        if (R == Op::rpi) return __builtin_ceil(x);
        return __builtin_nearbyint(x);
    }
}

// Clamps to the range of D. NaN gives 0, or only the top bit where a 64-bit type takes part.
template <class D, bool Long, class T>
D clamped(T y) {
    using L = std::numeric_limits<D>;
    constexpr T above = static_cast<T>(std::uint64_t{1} << (L::digits - 1)) * T(2);
    constexpr T least = static_cast<T>(L::min());
    const bool inside = y >= least && y < above;
    const D out = y > 0 ? L::max() : L::min();
    const D nan = Long ? static_cast<D>(std::make_unsigned_t<D>(1) << (bits_of<D> - 1)) : D(0);
    const D in = static_cast<D>(inside ? y : T(0));
    return y != y ? nan : inside ? in : out;
}

struct RealToInteger {
    template <class M>
    static constexpr bool mixes =
        M::type2 == Type::f32&& ptx::bytes_of(M::type) <= 4 && M::round == ptx::Round::rzi;
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (!std::is_same_v<S, Each<S>>)
            truncate(d, a);
        else if constexpr (is_short<S>)
            d = clamped<D, sizeof(D) == 8>(integral<M::round>(widen_to_float(a)));
        else
            d = clamped < D, sizeof(D) == 8 || sizeof(S) == 8 > (integral<M::round>(input<M>(a)));
    }

  private:
    // A vector of floats: the same, as truncation does not move a number across a bound.
    template <class D, class V>
    static void truncate(D& d, V x) {
        using L = std::numeric_limits<Each<D>>;
        using Word = std::conditional_t<(sizeof(Each<D>) < 4), std::int32_t, Each<D>>;
        using Words = VectorOf<Word, sizeof(V)>;
        constexpr float above = static_cast<float>(std::uint64_t{1} << (L::digits - 1)) * 2,
                        least = static_cast<float>(L::min());
        const Words low = Words{} + Word{L::min()}, high = Words{} + Word{L::max()};
        const Words inside = converted<Words>(x);
        const Words bounded = x >= above ? high : x < least ? low : inside;
        d = converted<D>(x == x ? bounded : Words{});
    }
};

struct RoundIntegral {
    template <class M, class T>
    static void lane(T& d, T a) {
        if constexpr (is_short<T>)
            d = short_finished<M, T>(integral<M::round>(short_input<M>(a)));
        else
            d = finished<M>(integral<M::round>(input<M>(a)));
    }
};

template <class S>
auto as_real(S a) {
    if constexpr (is_short<S>)
        return widen_to_float(a);
    else
        return a;
}

struct ConvertReal {
    template <class M>
    static constexpr bool widens = M::type == Type::f32 && !M::sat &&
                                   (M::type2 == Type::f16 || (M::type2 == Type::bf16 && !M::ftz));
    template <class M>
    static constexpr bool narrows = M::type2 == Type::f32 &&
                                    (is_of_f16<M> || is_of_bf16<M>)&&!M::directed && !M::sat &&
                                    !M::relu && !M::satfinite;
    template <class M>
    static constexpr bool mixes = (widens<M> || narrows<M>)&&(converts_halves || is_of_bf16<M> ||
                                                              M::type2 == Type::bf16);
    template <class M, class V, class T, unsigned N>
    static void lane(V& d, ShortVector<T, N> a) {
        const V x = widen_to_float(a);
        d = M::any_nan || std::is_same_v<T, BFloat16> ? x : canonical(x);
    }
    template <class M, class V, class T, unsigned N>
    static void lane(ShortVector<T, N>& d, V a) {
        narrow_to_nearest(d, a);
    }
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (std::is_same_v<D, S>) {
            same<M>(d, a);
        } else if constexpr (is_short<D>) {
            double x = as_real(input_of<M>(a));
            if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
            if constexpr (M::relu) x = x <= 0 ? 0 : x;
            d = narrow_by<D, M::round>(x);
            if constexpr (M::satfinite) d = finite(d);
            if constexpr (sizeof(S) == 8 && !M::sat) d = x != x ? short_nan<D>(x) : d;
        } else {
            const D x = static_cast<D>(as_real(input_of<M>(a)));
            // A NaN of f64 or bf16 keeps the upper bits of its payload.
            constexpr bool keeps =
                (sizeof(S) == 8 || (std::is_same_v<S, BFloat16> && !M::ftz)) && !M::sat;
            d = keeps && x != x ? x : finished<M>(x);
        }
    }

  private:
    template <class D>
    static D finite(D x) {  // the largest finite value in place of an infinity
        using L = Layout<D>;
        constexpr std::uint32_t infinity = static_cast<std::uint32_t>(L::top) << L::mantissa;
        return {static_cast<std::uint16_t>((x.bits & 0x7fffu) == infinity ? x.bits - 1u : x.bits)};
    }
    template <class M, class S>
    static S input_of(S a) {
        if constexpr (std::is_same_v<S, float> && ptx::bytes_of(M::type) >= 4)
            return input<M>(a);
        else
            return a;
    }
    template <class D>
    static D short_nan(double x) {
        using L = Layout<D>;
        const auto bits = bit_cast<std::uint64_t>(x);
        const auto payload =
            static_cast<std::uint32_t>((bits & 0xfffffffffffffu) >> (52 - L::mantissa));
        return {static_cast<std::uint16_t>(static_cast<std::uint32_t>(bits >> 63) << 15 |
                                           static_cast<std::uint32_t>(L::top) << L::mantissa |
                                           1u << (L::mantissa - 1) | payload)};
    }
    template <class M, class T>
    static void same(T& d, T a) {
        if constexpr (is_short<T>) {
            d = M::sat ? short_finished<M, T>(widen(a)) : a;
        } else if constexpr (M::sat || M::ftz) {
            d = finished<M>(input<M>(a));
        } else {
            d = a;
        }
    }
};

// The first source becomes the upper half.
struct ConvertPair {
    template <class M, class T>
    static void lane(Pair<T>& d, float a, float b) {
        ConvertReal::lane<M>(d.high, a);
        ConvertReal::lane<M>(d.low, b);
    }
};
struct ConvertPack {
    template <class M>
    static void lane(std::uint32_t& d, std::int32_t a, std::int32_t b) {
        using T = Lane<M::type>;
        d = static_cast<std::uint32_t>(static_cast<std::uint16_t>(saturated<T>(a))) << 16 |
            static_cast<std::uint16_t>(saturated<T>(b));
    }
};

// A third source's low half becomes d's upper half.
struct ConvertPackMore {
    template <class M>
    static void lane(std::uint32_t& d, std::int32_t a, std::int32_t b, std::uint32_t c) {
        using T = Lane<M::type>;
        d = c << 16 | static_cast<std::uint32_t>(static_cast<std::uint8_t>(saturated<T>(a))) << 8 |
            static_cast<std::uint8_t>(saturated<T>(b));
    }
};

// Converts and packs, for elements of 2 or 4 bits.
struct ConvertPackFew {
    template <class M>
    static void lane(std::uint32_t& d, std::int32_t a, std::int32_t b, std::uint32_t c) {
        constexpr unsigned bits = M::raw_mode & 7;
        constexpr bool sign = (M::raw_mode & 8) != 0;
        constexpr std::int32_t top = (1 << (sign ? bits - 1 : bits)) - 1,
                               bottom = sign ? -top - 1 : 0;
        const auto kept = [](std::int32_t x) {
            const std::int32_t within = x < bottom ? bottom : x > top ? top : x;
            return static_cast<std::uint32_t>(within) & ((1u << bits) - 1);
        };
        d = c << 2 * bits | kept(a) << bits | kept(b);
    }
};

// tf32: the upper 19 bits of an f32, rounded by adding a carry into them. NaN results follow an
// H200: .rna truncates NaN, other roundings return one NaN.
struct ConvertTensor {
    template <class M>
    static void lane(std::uint32_t& d, float a) {
        constexpr std::uint32_t infinity = 0x7f800000u, kept = 0x7fffe000u, last = 0x2000;
        const auto bits = bit_cast<std::uint32_t>(a);
        const std::uint32_t sign = bits & 0x80000000u, rest = bits & 0x7fffffffu;
        std::uint32_t up = 0;
        // No carry into a NaN.
        if constexpr (M::round == ptx::Round::rna) up = rest > infinity ? 0 : 0x1000;
        if constexpr (M::round == ptx::Round::rn) up = 0x0fff + (rest >> 13 & 1);
        std::uint32_t made = (rest + up) & kept;
        if constexpr (M::satfinite) made -= (made & infinity) == infinity ? last : 0;
        made |= sign;
        if constexpr (M::round == ptx::Round::rna) {
            d = made;
        } else {
            if constexpr (!M::satfinite) made = rest == infinity ? bits : made;
            if constexpr (M::relu) made = sign ? 0 : made;
            d = rest > infinity ? kept : made;
        }
    }
};

// Floats of 4, 6 and 8 bits. e4m3 has no infinity and one NaN; e5m2 is the upper half of an f16.
// Formats below 8 bits have neither: the largest number replaces both.
struct SmallFormat {
    int bits, mantissa, bias;
    std::uint32_t largest, nan;
};
constexpr SmallFormat small_format(Type t) {
    switch (t) {
        case Type::e2m1x2:
            return {4, 1, 1, 0x7, 0x7};
        case Type::e2m3x2:
        case Type::e2m3x4:
            return {6, 3, 1, 0x1f, 0x1f};
        case Type::e3m2x2:
        case Type::e3m2x4:
            return {6, 2, 3, 0x1f, 0x1f};
        case Type::e4m3x2:
        case Type::e4m3x4:
            return {8, 3, 7, 0x7e, 0x7f};
        default:
            return {8, 2, 15, 0x7b, 0x7f};
    }
}
template <Type T>
struct Small {
    static constexpr SmallFormat format = small_format(T);
    // The distance of the two numbers in a register. One of 6 bits stands in a byte.
    static constexpr int apart = format.bits == 4 ? 4 : 8;

    // Rounds to nearest, and saturates to the largest finite value.
    template <class M>
    static std::uint32_t of(double x) {
        constexpr int mantissa = format.mantissa;
        const auto bits = bit_cast<std::uint64_t>(x);
        const auto sign = static_cast<std::uint32_t>(bits >> 63);
        if (x != x) return format.nan;
        if (M::relu && sign) return 0;
        const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + format.bias;
        const std::uint64_t whole = (bits & 0xfffffffffffffu) | std::uint64_t{1} << 52;
        const int below = exponent > 0 ? 0 : 1 - exponent, drop = 52 - mantissa + below;
        std::uint32_t made = 0;
        if (drop < 60) {
            const std::uint64_t kept = whole >> drop,
                                rest = whole & ((std::uint64_t{1} << drop) - 1),
                                half = std::uint64_t{1} << (drop - 1);
            const std::uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
            const std::uint64_t field = static_cast<std::uint64_t>(exponent > 0 ? exponent - 1 : 0)
                                        << mantissa;
            made = rounded + field > format.largest ? format.largest
                                                    : static_cast<std::uint32_t>(rounded + field);
        }
        return sign << (format.bits - 1) | made;
    }
    // Rounds away from zero if the random bits, added to the highest bits that the format drops,
    // give a carry. Saturates to the largest finite value.
    template <class M>
    static std::uint32_t random_of(float x, std::uint32_t random) {
        constexpr int random_bits = 16, mantissa = format.mantissa;
        const auto bits = bit_cast<std::uint32_t>(x);
        const std::uint32_t sign = bits >> 31;
        if (x != x) return format.nan;
        if (M::relu && sign) return 0;
        const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + format.bias;
        const std::uint64_t whole = (bits & 0x7fffffu) | 0x800000u;
        const int drop = 23 - mantissa + (exponent > 0 ? 0 : 1 - exponent);
        std::uint64_t made = 0;
        // Of more dropped bits, no sum has a carry.
        if (drop <= 24 + random_bits) {
            made = (whole + (std::uint64_t{random} << (drop - random_bits))) >> drop;
            made += static_cast<std::uint64_t>(exponent > 0 ? exponent - 1 : 0) << mantissa;
        }
        if (made > format.largest) made = format.largest;
        return sign << (format.bits - 1) | static_cast<std::uint32_t>(made);
    }
    // D is f16 or bf16, which hold each number of the formats.
    template <class M, class D>
    static D widened(std::uint32_t bits) {
        constexpr std::uint32_t top = 1u << (format.bits - 1),
                                infinity = T == Type::e5m2x2 ? 0x7c : format.nan;
        const std::uint32_t rest = bits & (top - 1);
        const bool negative = (bits & top) != 0,
                   nan = format.bits == 8 && rest > infinity - (T != Type::e5m2x2);
        if (nan) return {0x7fff};
        if (M::relu && negative) return {0};
        if constexpr (T == Type::e5m2x2)
            if (rest == infinity) {
                const double limit = M::satfinite ? largest<D>() : __builtin_inf();
                return narrow<D>(negative ? -limit : limit, ptx::Round::rn);
            }
        constexpr std::uint32_t hidden = 1u << format.mantissa;
        const std::uint32_t exponent = rest >> format.mantissa, fraction = rest & (hidden - 1);
        const double scale = power_of_two(1 - format.bias - format.mantissa +
                                          static_cast<int>(exponent ? exponent - 1 : 0));
        const double x = static_cast<double>(exponent ? fraction + hidden : fraction) * scale;
        return narrow<D>(negative ? -x : x, ptx::Round::rn);
    }

  private:
    static double power_of_two(int exponent) {
        return bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
    }
    template <class D>
    static double largest() {
        using L = Layout<D>;
        return widen(D{static_cast<std::uint16_t>((L::top << L::mantissa) - 1)});
    }
};
struct NarrowSmall {
    template <class M, class D>
    static void lane(D& d, float a, float b) {
        d = joined<M, D>(a, b);
    }
    template <class M, class D, class S>
    static void lane(D& d, Pair<S> a) {
        d = joined<M, D>(widen(a.high), widen(a.low));
    }

  private:
    template <class M, class D>
    static D joined(double high, double low) {
        using S = Small<M::type>;
        return static_cast<D>(S::template of<M>(high) << S::apart | S::template of<M>(low));
    }
};
struct WidenSmall {
    template <class M, class D, class S>
    static void lane(Pair<D>& d, S a) {
        using Format = Small<M::type2>;
        constexpr std::uint32_t mask = (1u << Format::apart) - 1;
        d.high = Format::template widened<M, D>(a >> Format::apart & mask);
        d.low = Format::template widened<M, D>(a & mask);
    }
};

// A number times a power of two as bf16. `exponent`: ue8m0, where 0xff is NaN.
template <class M>
BFloat16 scaled(double x, std::uint32_t exponent) {
    if (x != x || exponent == 0xff) return {0x7fff};
    if (M::relu && __builtin_signbit(x)) return {0};
    const double factor = bit_cast<double>(static_cast<std::uint64_t>(1023 - 127 + exponent) << 52);
    BFloat16 made = narrow<BFloat16>(x * factor, ptx::Round::rn);
    if (M::satfinite && (made.bits & 0x7fff) == 0x7f80) --made.bits;
    return made;
}
// The modifiers of a conversion without .relu and .satfinite.
struct Unmodified {
    static constexpr bool relu = false, satfinite = false;
};
struct WidenScaled {
    template <class M, class S>
    static void lane(Pair<BFloat16>& d, S a, std::uint16_t exponents) {
        using Format = Small<M::type2>;
        constexpr std::uint32_t mask = (1u << Format::apart) - 1;
        const auto of = [](std::uint32_t bits) {
            return widen(Format::template widened<Unmodified, BFloat16>(bits & mask));
        };
        d.high = scaled<M>(of(a >> Format::apart), exponents >> 8u);
        d.low = scaled<M>(of(a), exponents & 0xffu);
    }
};
// s2f6: 64 times the number, as an integer of 8 bits.
struct WidenFixed {
    template <class M>
    static void lane(Pair<BFloat16>& d, std::uint16_t a, std::uint16_t exponents = 0x7f7f) {
        const auto of = [](std::uint32_t bits) {
            return static_cast<double>(static_cast<std::int8_t>(bits)) / 64;
        };
        d.high = scaled<M>(of(a >> 8u), exponents >> 8u);
        d.low = scaled<M>(of(a & 0xffu), exponents & 0xffu);
    }
};

// Numbers are divided by the factors, and those out of range become the largest or the least.
struct NarrowFixed {
    template <class M>
    static void lane(std::uint16_t& d, float a, float b, std::uint16_t exponents = 0x7f7f) {
        d = joined<M>(a, b, exponents);
    }
    template <class M>
    static void lane(std::uint16_t& d, Pair<BFloat16> a, std::uint16_t exponents = 0x7f7f) {
        d = joined<M>(widen_to_float(a.high), widen_to_float(a.low), exponents);
    }

  private:
    template <class M>
    static std::uint16_t joined(float high, float low, std::uint32_t exponents) {
        return static_cast<std::uint16_t>(of<M>(high, exponents >> 8) << 8 |
                                          of<M>(low, exponents & 0xff));
    }
    template <class M>
    static std::uint32_t of(double x, std::uint32_t exponent) {
        constexpr double largest = 127, least = M::relu ? 0 : -128;
        // An addition of this double rounds to an integer.
        constexpr double integral = 6755399441055744.0;
        if (x != x || exponent == 0xff) return 0x7f;
        // 64 over the factor: 2 to the power 6 + 127 - exponent.
        const auto bits = static_cast<std::uint64_t>(1023 + 6 + 127 - static_cast<int>(exponent));
        const double number = x * bit_cast<double>(bits << 52);
        const double within = number > largest ? largest : number < least ? least : number;
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(within + integral - integral)) &
               0xff;
    }
};

// ue8m0: the exponent of an f32, without a sign; 0xff is NaN. The sign of a source is dropped.
struct NarrowScale {
    template <class M>
    static void lane(std::uint16_t& d, float a, float b) {
        d = static_cast<std::uint16_t>(of<M>(bit_cast<std::uint32_t>(a)) << 8 |
                                       of<M>(bit_cast<std::uint32_t>(b)));
    }
    template <class M>
    static void lane(std::uint16_t& d, Pair<BFloat16> a) {
        d = static_cast<std::uint16_t>(of<M>(std::uint32_t{a.high.bits} << 16) << 8 |
                                       of<M>(std::uint32_t{a.low.bits} << 16));
    }

  private:
    template <class M>
    static std::uint32_t of(std::uint32_t bits) {
        constexpr std::uint32_t infinity = 0x7f800000u, least = 0x00400000u;  // least: 2^-127
        const std::uint32_t x = bits & 0x7fffffffu;
        std::uint32_t made = x >> 23;
        if constexpr (M::round == ptx::Round::rp)
            made += (x & 0x7fffffu) != 0 && x > least && x < infinity;
        if constexpr (M::satfinite) made -= made == 0xff && x <= infinity;
        return made;
    }
};
struct WidenScale {
    template <class M>
    static void lane(Pair<BFloat16>& d, std::uint16_t a) {
        d.high = of(a >> 8u);
        d.low = of(a & 0xffu);
    }

  private:
    static BFloat16 of(std::uint32_t exponent) {
        return {static_cast<std::uint16_t>(exponent == 0xff ? 0x7fff
                                           : exponent == 0  ? 0x0040
                                                            : exponent << 7)};
    }
};

// Stochastic rounding: the random bits are added to the bits that the narrow format drops. Below
// the least normal f16 more bits are dropped than random bits exist; the highest of both align.
struct ConvertRandom {
    template <class M, class T>
    static void lane(Pair<T>& d, float a, float b, std::uint32_t random) {
        d.high = of<M, T>(a, random >> 16);
        d.low = of<M, T>(b, random & 0xffff);
    }

  private:
    template <class M, class T>
    static T of(float x, std::uint32_t random) {
        using L = Layout<T>;
        constexpr int dropped = 23 - L::mantissa;
        constexpr std::uint32_t infinity = 0x7f800000u;
        constexpr std::uint32_t least = static_cast<std::uint32_t>(128 - L::bias) << 23;
        const auto bits = bit_cast<std::uint32_t>(x);
        const std::uint32_t sign = bits >> 31, rest = bits & 0x7fffffffu;
        random &= (1u << dropped) - 1;
        if (rest > infinity) return {0x7fff};
        if (M::relu && sign) return {0};
        constexpr std::uint32_t top = static_cast<std::uint32_t>(L::top) << L::mantissa;
        std::uint32_t made = top;
        if (L::bias == 127 || rest >= least) {
            const std::uint32_t rebias = static_cast<std::uint32_t>(127 - L::bias) << 23;
            if (rest < infinity) made = (rest - rebias + random) >> dropped;
            if (made > top) made = top;
        } else {
            const int exponent = static_cast<int>(rest >> 23);
            const int drop = 126 - exponent;
            const std::uint64_t whole = exponent ? (rest & 0x7fffff) | 0x800000 : rest << 1;
            made = drop > 40 ? 0
                             : static_cast<std::uint32_t>(
                                   (whole + (std::uint64_t{random} << (drop - dropped))) >> drop);
        }
        if (M::satfinite && made == top) --made;
        return {static_cast<std::uint16_t>(sign << 15 | made)};
    }
};

// Each half of the random bits serves two numbers. The first of them takes the bits in reverse
// order, as public measurements of e4m3x4 on sm_100a show. The manual has one layout for all four
// formats.
struct ConvertRandomFour {
    template <class M>
    static void lane(std::uint32_t& d, Four<float> from, std::uint32_t random) {
        using Format = Small<M::type>;
        const std::uint32_t high = random >> 16, low = random & 0xffff;
        d = Format::template random_of<M>(from.part[0], reversed(high)) << 24 |
            Format::template random_of<M>(from.part[1], high) << 16 |
            Format::template random_of<M>(from.part[2], reversed(low)) << 8 |
            Format::template random_of<M>(from.part[3], low);
    }

  private:
    static std::uint32_t reversed(std::uint32_t x) {
        x = (x & 0x5555) << 1 | (x >> 1 & 0x5555);
        x = (x & 0x3333) << 2 | (x >> 2 & 0x3333);
        x = (x & 0x0f0f) << 4 | (x >> 4 & 0x0f0f);
        return (x & 0xff) << 8 | x >> 8;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
