// csrc/cpu/exec/isa/convert.hpp - cvt: what one lane converts.
#pragma once

#include "cpu/exec/isa/integer.hpp"
#include "cpu/exec/isa/real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct ConvertInteger {
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (M::sat) {
            using W = __int128;
            const W x = a, low = std::numeric_limits<D>::min(),
                    high = std::numeric_limits<D>::max();
            d = static_cast<D>(x < low ? low : x > high ? high : x);
        } else {
            d = static_cast<D>(a);
        }
    }
};

// An integer as a double which still rounds to any short float as the integer would.
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
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (is_short<D>) {
            double x = sticky_double(a);
            if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
            d = narrow<D>(x, M::round);
        } else {
            const D x = static_cast<D>(a);
            d = M::sat ? (x > D(0) ? (x < D(1) ? x : D(1)) : D(0)) : x;
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

// Out of range goes to the nearest end. NaN is 0, or the top bit alone where 64 bits take part.
template <class D, bool Long, class T>
D clamped(T y) {
    using L = std::numeric_limits<D>;
    constexpr T above = static_cast<T>(std::uint64_t{1} << (L::digits - 1)) * T(2);
    constexpr T least = static_cast<T>(L::min());
    const bool inside = y >= least && y < above;
    const D out = y > 0 ? L::max() : L::min();
    const D nan = Long && sizeof(D) >= 4
                      ? static_cast<D>(std::make_unsigned_t<D>(1) << (bits_of<D> - 1))
                      : D(0);
    const D in = static_cast<D>(inside ? y : T(0));
    return y != y ? nan : inside ? in : out;
}

struct RealToInteger {
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (is_short<S>)
            d = clamped<D, sizeof(D) == 8>(integral<M::round>(static_cast<float>(widen(a))));
        else
            d = clamped < D, sizeof(D) == 8 || sizeof(S) == 8 > (integral<M::round>(input<M>(a)));
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
        return static_cast<float>(widen(a));
    else
        return a;
}

struct ConvertReal {
    template <class M, class D, class S>
    static void lane(D& d, S a) {
        if constexpr (std::is_same_v<D, S>) {
            same<M>(d, a);
        } else if constexpr (is_short<D>) {
            double x = as_real(input_of<M>(a));
            if constexpr (M::sat) x = x > 0 ? (x < 1 ? x : 1) : 0;
            if constexpr (M::relu) x = x <= 0 ? 0 : x;
            d = narrow<D>(x, M::round);
            if constexpr (sizeof(S) == 8 && !M::sat) d = x != x ? short_nan<D>(x) : d;
        } else {
            const D x = static_cast<D>(as_real(input_of<M>(a)));
            // From f64 and bf16 a NaN keeps the upper bits of its payload.
            constexpr bool keeps =
                (sizeof(S) == 8 || (std::is_same_v<S, Brain> && !M::ftz)) && !M::sat;
            d = keeps && x != x ? x : finished<M>(x);
        }
    }

  private:
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

// The first source goes into the upper half.
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

}  // namespace cupola::cpu::CUPOLA_ISA
