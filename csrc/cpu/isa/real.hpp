// csrc/cpu/isa/real.hpp - floating-point arithmetic of one lane, for f32, f64, f16 and bf16.
//
// The caller (lanes.hpp) sets directed roundings for the whole warp.
#pragma once

#include "cpu/base/tensor_map.hpp"
#include "cpu/isa/bind.hpp"
#include "cpu/isa/short_real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

inline constexpr float smallest_normal = 1.17549435e-38f;

inline float absolute(float x) { return __builtin_fabsf(x); }
inline double absolute(double x) { return __builtin_fabs(x); }
inline float flushed(float x) {
    return __builtin_fabsf(x) < smallest_normal ? __builtin_copysignf(0.0f, x) : x;
}

// f32 arithmetic returns one NaN for all NaN inputs.
inline float canonical(float x) { return x == x ? x : bit_cast<float>(0x7fffffffu); }
inline double canonical(double x) { return x; }
template <class V>
V canonical(V x) {
    if constexpr (sizeof(Each<V>) == 4) return x == x ? x : V{} + bit_cast<float>(0x7fffffffu);
    return x;
}

// The NaN of an invalid operation on f64 is negative on x86-64 and positive on Arm. `x`: the result
// of an operation on `in`.
template <class T, class... In>
T with_sign_of_invalid(T x, In... in) {
#if defined(__aarch64__)
    if constexpr (sizeof(Each<T>) == 8)
        return (x != x) & (... & (in == in)) ? T{} + bit_cast<double>(0xfff8000000000000u) : x;
#endif
    ((void)in, ...);
    return x;
}

template <class M>
float input(float x) {
    return M::ftz ? flushed(x) : x;
}
template <class M>
double input(double x) {
    return x;
}
template <class M, class V>
V input(V x) {
    static_assert(!M::ftz);
    return x;
}

template <class M, class T>
T finished(T x) {
    if constexpr (M::ftz && sizeof(T) == 4) x = flushed(x);
    if constexpr (M::sat) return x > T(0) ? (x < T(1) ? x : T(1)) : T(0);
    if constexpr (M::relu) x = x <= T(0) ? T(0) : x;  // -0 becomes +0
    return M::any_nan ? x : canonical(x);
}

// Operations without modifiers have vector forms.
template <class M, class T>
constexpr bool plain = std::is_floating_point_v<T> && !M::ftz && !M::sat && !M::relu;

struct Sum {
    template <class T>
    static T of(T a, T b) {
        return a + b;
    }
};
struct Difference {
    template <class T>
    static T of(T a, T b) {
        return a - b;
    }
};
struct Product {
    template <class T>
    static T of(T a, T b) {
        return a * b;
    }
};
struct Ratio {
    template <class T>
    static T of(T a, T b) {
        return a / b;
    }
};
template <class Op>
struct Binary {
    template <class M, class T>
    static constexpr bool vectors = plain<M, T>;
    template <class M>
    static constexpr bool mixes = (is_of_f16<M> && converts_halves) ||
                                  (is_of_bf16<M> && !std::is_same_v<Op, Product>);
    template <class M, class T, unsigned N>
    static void lane(ShortVector<T, N>& d, ShortVector<T, N> a, ShortVector<T, N> b) {
        finish_short<M>(d, Op::of(short_input<M>(a), short_input<M>(b)));
    }
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (is_short<T>)
            d = short_finished<M, T>(Op::of(short_input<M>(a), short_input<M>(b)));
        else
            d = finished<M>(with_sign_of_invalid(Op::of(input<M>(a), input<M>(b)), a, b));
    }
};
using AddReal = Binary<Sum>;
using SubReal = Binary<Difference>;
using DivReal = Binary<Ratio>;
using DivApprox = DivReal;
using DivFull = DivReal;

// .ftz tests for denormals as if the exponent range were unbounded: a result that rounds up to the
// least normal number in 24 bits stays. Scaling by 2^64 makes room in the exponent for that test.
template <class M>
float flushed_as(float x, float scaled) {
    return M::ftz && __builtin_fabsf(scaled) < smallest_normal * 0x1p64f
               ? __builtin_copysignf(0.0f, x)
               : x;
}
struct MulReal {
    template <class M, class T>
    static constexpr bool vectors = plain<M, T>;
    template <class M>
    static constexpr bool mixes = Binary<Product>::mixes<M>;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (M::ftz && sizeof(T) == 4) {
            const float x = input<M>(a), y = input<M>(b);
            d = finished<M>(flushed_as<M>(x * y, (x * 0x1p32f) * (y * 0x1p32f)));
        } else {
            Binary<Product>::lane<M>(d, a, b);
        }
    }
};

struct FmaReal {
    template <class M>
    static constexpr bool mixes = is_of_f16<M>&& converts_halves;
    template <class M, class T, unsigned N>
    static void lane(ShortVector<T, N>& d, ShortVector<T, N> a, ShortVector<T, N> b,
                     ShortVector<T, N> c) {
        finish_short<M>(d, fma_to_odd(short_input<M>(a), short_input<M>(b), short_input<M>(c)));
    }
    template <class M, class T>
    static constexpr bool vectors = plain<M, T>&& vectors_fuse;
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        if constexpr (is_short<T>)
            d = short_finished<M, T>(
                fma_to_odd(short_input<M>(a), short_input<M>(b), short_input<M>(c)));
        else if constexpr (sizeof(T) == 4)
            single<M>(d, input<M>(a), input<M>(b), input<M>(c));
        else
            d = finished<M>(with_sign_of_invalid(fused(a, b, c), a, b, c));
    }

  private:
    template <class M>
    static void single(float& d, float a, float b, float c) {
        const float x = fused(a, b, c);
        if constexpr (M::ftz) {
            const float scaled = fused(a * 0x1p32f, b * 0x1p32f, c * 0x1p64f);
            d = finished<M>(flushed_as<M>(x, scaled));
        } else {
            d = finished<M>(x);
        }
    }
};

// Factors or a first addend of f16 or bf16, computed as f32.
template <class Op>
struct Mixed {
    template <class M, class S>
    static void lane(float& d, S a, float c) {
        d = finished<M>(Op::of(static_cast<float>(widen_to_float(a)), c));
    }
};
using AddMixed = Mixed<Sum>;
using SubMixed = Mixed<Difference>;
struct FmaMixed {
    template <class M, class S>
    static void lane(float& d, S a, S b, float c) {
        d = finished<M>(fused(widen_to_float(a), widen_to_float(b), c));
    }
};

// The fill value of a tensor copy as a factor makes the result +0.
struct FmaInside {
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        const auto is_outside = [](T x) {
            return (bit_cast<std::uint16_t>(x) & 0x7fff) == cpu::outside;
        };
        FmaReal::lane<M>(d, a, b, c);
        if (is_outside(a) || is_outside(b)) d = bit_cast<T>(std::uint16_t{0});
    }
};

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
template <class T>
inline constexpr WordOf<T> sign_bit = static_cast<WordOf<T>>(WordOf<T>(1) << (8 * sizeof(T) - 1));

template <class M, class T>
T flushed_bits(T x) {
    if constexpr (M::ftz && sizeof(T) == 4) return flushed(x);
    if constexpr (M::ftz && sizeof(T) == 2) {
        const auto bits = bit_cast<std::uint16_t>(x);
        return bit_cast<T>(static_cast<std::uint16_t>((bits & 0x7c00) ? bits : bits & 0x8000));
    }
    return x;
}
struct AbsReal {
    template <class M, class T>
    static void lane(T& d, T a) {
        const auto bits = bit_cast<WordOf<T>>(flushed_bits<M>(a));
        d = bit_cast<T>(static_cast<WordOf<T>>(bits & static_cast<WordOf<T>>(~sign_bit<T>)));
    }
};
struct NegReal {
    template <class M, class T>
    static void lane(T& d, T a) {
        const auto bits = bit_cast<WordOf<T>>(flushed_bits<M>(a));
        d = bit_cast<T>(static_cast<WordOf<T>>(bits ^ sign_bit<T>));
    }
};
struct CopySign {
    template <class M, class T>
    static void lane(T& d, T a, T b) {  // the sign of a, the other bits of b
        const auto x = bit_cast<WordOf<T>>(a), y = bit_cast<WordOf<T>>(b);
        d = bit_cast<T>((x & sign_bit<T>) | (y & ~sign_bit<T>));
    }
};

// -0 is less than +0. If one operand is NaN, the result is the other operand; with .NaN the result
// is NaN.
template <bool Largest>
struct Extreme {
    template <class T>
    static T of(T a, T b) {
        const bool first = Largest ? a > b : a < b;
        const bool swap = Largest ? __builtin_signbit(a) : __builtin_signbit(b);
        const T ordered = a == b ? (swap ? b : a) : (first ? a : b);
        return a != a ? b : b != b ? a : ordered;
    }
    template <class M>
    static void lane(float& d, float a, float b, float c) {
        const float x = magnitude<M>(input<M>(a)), y = magnitude<M>(input<M>(b)),
                    z = magnitude<M>(input<M>(c));
        d = finished<M>(either<M>(either<M>(x, y), z));
    }
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (is_short<T>) {
            const double x = short_input<M>(a), y = short_input<M>(b);
            d = short_finished<M, T>(
                signed_as<M>(either<M>(magnitude<M>(x), magnitude<M>(y)), x, y));
        } else {
            const T x = input<M>(a), y = input<M>(b);
            const T z = signed_as<M>(either<M>(magnitude<M>(x), magnitude<M>(y)), x, y);
            if constexpr (sizeof(T) == 8)
                d = z == z ? z : bit_cast<T>(std::uint64_t{0x7fffffffffffffff});
            else
                d = finished<M>(z);
        }
    }

  private:
    template <class M, class T>
    static T magnitude(T x) {
        return M::xorsign || M::magnitude ? absolute(x) : x;
    }
    template <class M, class T>
    static T either(T x, T y) {
        if (M::nan && (x != x || y != y)) return std::numeric_limits<T>::quiet_NaN();
        return of(x, y);
    }
    // Tests bits: GCC compiles `signbit` of a NaN to a comparison with 0 if the other operand is
    // constant.
    template <class M, class T>
    static T signed_as(T z, T x, T y) {
        if constexpr (M::xorsign)
            return ((bit_cast<WordOf<T>>(x) ^ bit_cast<WordOf<T>>(y)) & sign_bit<T>) != 0 ? -z : z;
        else
            return z;
    }
};
using MinReal = Extreme<false>;
using MaxReal = Extreme<true>;

struct RcpReal {
    template <class M, class T>
    static void lane(T& d, T a) {
        d = finished<M>(T(1) / input<M>(a));
    }
};
struct SqrtReal {
    template <class M, class T>
    static void lane(T& d, T a) {
        if constexpr (sizeof(T) == 4)
            d = finished<M>(__builtin_sqrtf(input<M>(a)));
        else
            d = finished<M>(with_sign_of_invalid(__builtin_sqrt(a), a));
    }
};
struct RsqrtApprox {
    template <class M>
    static void lane(float& d, float a) {
        d = finished<M>(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(input<M>(a)))));
    }
};

// Approximate f64 forms use the upper word only: 20 bits of mantissa, denormals flushed.
inline double upper_word(double x) {
    return bit_cast<double>(bit_cast<std::uint64_t>(x) & 0xffffffff00000000u);
}
inline double flushed(double x) {
    return __builtin_fabs(x) < std::numeric_limits<double>::min() ? __builtin_copysign(0.0, x) : x;
}
struct RcpCoarse {
    template <class M>
    static void lane(double& d, double a) {
        d = upper_word(flushed(1.0 / flushed(upper_word(a))));
    }
};
struct RsqrtCoarse {
    template <class M>
    static void lane(double& d, double a) {
        if constexpr (M::ftz)
            d = upper_word(1.0 / __builtin_sqrt(flushed(upper_word(a))));
        else
            d = 1.0 / __builtin_sqrt(a);
    }
};

// A function of one float: computed in double, rounded once.
template <class Op>
struct Transcendental {
    template <class M, class T>
    static void lane(T& d, T a) {
        if constexpr (is_short<T>)
            d = short_finished<M, T>(Op::of(short_input<M>(a)));
        else
            d = finished<M>(static_cast<float>(Op::of(static_cast<double>(input<M>(a)))));
    }
};
// Declared here because <cmath> is slow to compile. The compiler must not know these functions: it
// folds constants more exactly than the library computes them.
double sine(double x) __asm__("sin");
double cosine(double x) __asm__("cos");
double logarithm(double x) __asm__("log2");
double hyperbolic_tangent(double x) __asm__("tanh");

// 2^x of a float, with a relative error below 2^-41. It has no branches, tables or calls, so that
// compilers make vectors of it, and no fused operations, so that all levels give the same bits.
inline double power(double x) {
    // Adding this constant rounds to a whole number, which is then in the low bits of the sum.
    constexpr double shift = 0x1.8p52;
    // Larger exponents than a float has.
    const double bounded = x < -1000 ? -1000 : x > 1000 ? 1000 : x;
    const double whole = bounded + shift, f = bounded - (whole - shift);
    // ln(2)^n / n!
    double p = 7.054911620801122e-09;
    p = p * f + 1.0178086009239699e-07;
    p = p * f + 1.3215486790144307e-06;
    p = p * f + 1.5252733804059841e-05;
    p = p * f + 1.5403530393381608e-04;
    p = p * f + 1.3333558146428443e-03;
    p = p * f + 9.6181291076284769e-03;
    p = p * f + 5.5504108664821576e-02;
    p = p * f + 2.4022650695910072e-01;
    p = p * f + 6.9314718055994529e-01;
    p = p * f + 1.0;
    const std::uint64_t scaled =
        bit_cast<std::uint64_t>(p) + (bit_cast<std::uint64_t>(whole) << 52);
    return x == x ? bit_cast<double>(scaled) : x;
}

constexpr double two_pi = 6.283185307179586;
struct SinOf {
    static double of(double x) { return sine(x); }
};
struct CosOf {
    static double of(double x) { return cosine(x); }
};
// Of turns: the whole turns are left out, which is exact.
struct SinOfTurnsOf {
    static double of(double x) { return sine((x - __builtin_rint(x)) * two_pi); }
};
struct CosOfTurnsOf {
    static double of(double x) { return cosine((x - __builtin_rint(x)) * two_pi); }
};
struct Log2Of {
    static double of(double x) { return logarithm(x); }
};
struct Exp2Of {
    static double of(double x) { return power(x); }
};
struct TanhOf {
    static double of(double x) { return hyperbolic_tangent(x); }
};
using Sin = Transcendental<SinOf>;
using Cos = Transcendental<CosOf>;
using SinOfTurns = Transcendental<SinOfTurnsOf>;
using CosOfTurns = Transcendental<CosOfTurnsOf>;
using Log2 = Transcendental<Log2Of>;
using Exp2 = Transcendental<Exp2Of>;
using Tanh = Transcendental<TanhOf>;

struct TestProperty {
    template <class M, class T>
    static void lane(std::int32_t& p, T a) {
        constexpr auto what = static_cast<ptx::TestP>(M::raw_mode);
        const T x = absolute(a);
        constexpr T infinity = std::numeric_limits<T>::infinity(),
                    least = std::numeric_limits<T>::min();
        bool is = false;
        switch (what) {
            case ptx::TestP::finite:
                is = x < infinity;
                break;
            case ptx::TestP::infinite:
                is = x == infinity;
                break;
            case ptx::TestP::number:
                is = x == x;
                break;
            case ptx::TestP::notanumber:
                is = x != x;
                break;
            case ptx::TestP::normal:
                is = x == 0 || (x >= least && x < infinity);  // zero counts as normal
                break;
            case ptx::TestP::subnormal:
                is = x < least && x > 0;
                break;
        }
        p = is ? -1 : 0;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
