// csrc/kernels/array/arithmetic.cuh - operations of few instructions, by NumPy's rules.
//
// Integers wrap, so they are computed as unsigned if the sign does not matter. Each real operation
// rounds once: --fmad=false keeps the compiler from contracting two into one.
//
// `words` applies the operation to all narrow integers (type S) of a word, if that takes fewer
// instructions than extracting them. `stored` is a cheaper variant for elements stored as S, which
// need less precision than the computation type.
#pragma once

#include "quotients.cuh"

namespace cupola::arrays::arithmetic {

struct positive {
    template <class T>
    __device__ static T of(T x, T) {
        return x;
    }
};

struct add {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (is_complex<T>)
            return {x.real + y.real, x.imag + y.imag};
        else
            return static_cast<T>(unsigned_of<T>(x) + unsigned_of<T>(y));
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return ((x & ~tops<S>)+(y & ~tops<S>)) ^ ((x ^ y) & tops<S>);
    }
};

struct subtract {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (is_complex<T>)
            return {x.real - y.real, x.imag - y.imag};
        else
            return static_cast<T>(unsigned_of<T>(x) - unsigned_of<T>(y));
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return ((x | tops<S>)-(y & ~tops<S>)) ^ (~(x ^ y) & tops<S>);
    }
};

struct multiply {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (is_complex<T>)
            return {x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real};
        else
            return static_cast<T>(unsigned_of<T>(x) * unsigned_of<T>(y));
    }
    // Integers of x below the current one are cleared, and the integer of y is at the bottom. So
    // the product is in place, and higher integers only affect higher bits.
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        u32 result = x * y;
#pragma unroll
        for (unsigned at = width<S>; at < 32; at += width<S>)
            result = choose_bits(~0u << at, (x & ~0u << at) * (y >> at), result);
        return result;
    }
};

// Complex division by Smith's algorithm, which overflows only if the quotient does.
struct divide {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (is_complex<T>) {
            using R = real_of<T>;
            const R a = fabs(y.real), b = fabs(y.imag);
            if (a >= b) {
                if (a == 0 && b == 0) return {x.real / a, x.imag / a};
                const R ratio = y.imag / y.real, scale = R(1) / (y.real + y.imag * ratio);
                return {(x.real + x.imag * ratio) * scale, (x.imag - x.real * ratio) * scale};
            }
            const R ratio = y.real / y.imag, scale = R(1) / (y.imag + y.real * ratio);
            return {(x.real * ratio + x.imag) * scale, (x.imag * ratio - x.real) * scale};
        } else {
            return x / y;
        }
    }
};

struct negative {
    template <class T>
    __device__ static T of(T x, T) {
        if constexpr (is_complex<T>)
            return {-x.real, -x.imag};
        else if constexpr (is_real<T>)
            return -x;
        else
            return static_cast<T>(0 - unsigned_of<T>(x));
    }
    template <class S>
    __device__ static u32 words(u32 x, u32) {
        return subtract::words<S>(0, x);
    }
};

template <class T>
__device__ bool below_zero(T x) {
    if constexpr (is_real<T> || is_signed<T>) return x < 0;
    return false;
}

struct absolute {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (is_real<T>)
            return fabs(x);
        else
            return below_zero(x) ? negative::of(x, y) : x;
    }
    template <class S>
    __device__ static u32 words(u32 x, u32) {
        if (!is_signed<S>) return x;
        return (x ^ below_zero_everywhere<S>(x)) + below_zero_in<S>(x);
    }
};

struct square {
    template <class T>
    __device__ static T of(T x, T) {
        return multiply::of(x, x);
    }
    template <class S>
    __device__ static u32 words(u32 x, u32) {
        return multiply::words<S>(x, x);
    }
};

struct reciprocal {
    template <class T>
    __device__ static T of(T x, T) {
        if constexpr (is_complex<T>) {
            using R = real_of<T>;
            if (fabs(x.imag) <= fabs(x.real)) {
                const R ratio = x.imag / x.real, scale = x.real + x.imag * ratio;
                return {R(1) / scale, -ratio / scale};
            }
            const R ratio = x.real / x.imag, scale = x.real * ratio + x.imag;
            return {ratio / scale, R(-1) / scale};
        } else if constexpr (is_real<T>) {
            return T(1) / x;
        } else {
            return x == 1 || (is_signed<T> && x == T(-1)) ? x : 0;
        }
    }
    // A half's reciprocal is at least 2 float ulp away from a rounding boundary of halves.
    template <class S>
    __device__ static std::enable_if_t<std::is_same_v<S, f16>, f32> stored(f32 x, f32) {
        return inverse_of(x);
    }
    template <class S>
    __device__ static u32 words(u32 x, u32) {
        return x & ~filled_where_no_unit<S>(x);
    }
};

struct sign {
    template <class T>
    __device__ static T of(T x, T) {
        if (x == 0) return 0;
        return below_zero(x) ? T(-1) : x > 0 ? T(1) : x;  // a NaN returns itself
    }
    template <class S>
    __device__ static u32 words(u32 x, u32) {
        return (is_signed<S> ? below_zero_everywhere<S>(x) : 0) | truths<S>(x);
    }
};

struct conjugate {
    template <class T>
    __device__ static T of(T x, T) {
        if constexpr (is_complex<T>)
            return {x.real, -x.imag};
        else
            return x;
    }
};

template <class T>
__device__ bool not_a_number(T x) {
    if constexpr (is_complex<T>)
        return x.real != x.real || x.imag != x.imag;
    else
        return x != x;
}

// Complex numbers are ordered by real part, then by imaginary part; with a NaN there is no order.
template <class T>
__device__ bool at_least(T x, T y) {
    if constexpr (is_complex<T>)
        return (x.real > y.real && x.imag == x.imag && y.imag == y.imag) ||
               (x.real == y.real && x.imag >= y.imag);
    else
        return x >= y;
}

// maximum and minimum propagate NaN. fmax and fmin ignore NaN.
struct maximum {
    template <class T>
    __device__ static T of(T x, T y) {
        return at_least(x, y) || not_a_number(x) ? x : y;
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return by_halves<S>(
            x, y, [](u32 a, u32 b) { return is_signed<S> ? __vmaxs2(a, b) : __vmaxu2(a, b); });
    }
};
struct minimum {
    template <class T>
    __device__ static T of(T x, T y) {
        return at_least(y, x) || not_a_number(x) ? x : y;
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return by_halves<S>(
            x, y, [](u32 a, u32 b) { return is_signed<S> ? __vmins2(a, b) : __vminu2(a, b); });
    }
};
struct fmax : maximum {
    template <class T>
    __device__ static T of(T x, T y) {
        return at_least(x, y) || not_a_number(y) ? x : y;
    }
};
struct fmin : minimum {
    template <class T>
    __device__ static T of(T x, T y) {
        return at_least(y, x) || not_a_number(y) ? x : y;
    }
};

struct sqrt {
    template <class T>
    __device__ static T of(T x, T) {
        return ::sqrt(x);
    }
    // A Newton step; a half's exponent is never extreme in float.
    template <class S>
    __device__ static std::enable_if_t<std::is_same_v<S, f16>, f32> stored(f32 x, f32) {
        f32 inverse;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
        const f32 about = x * inverse, rest = __fmaf_rn(-about, about, x);
        return x == 0 || x == f32(HUGE_VAL) ? x : __fmaf_rn(rest, inverse * 0.5f, about);
    }
};

#define CUPOLA_ROUNDING(name)                            \
    struct name {                                        \
        template <class T>                               \
        __device__ static T of(T x, T) {                 \
            if constexpr (is_complex<T>)                 \
                return {::name(x.real), ::name(x.imag)}; \
            else if constexpr (is_real<T>)               \
                return ::name(x);                        \
            else                                         \
                return x;                                \
        }                                                \
    };
CUPOLA_ROUNDING(floor)
CUPOLA_ROUNDING(ceil)
CUPOLA_ROUNDING(trunc)
CUPOLA_ROUNDING(rint)
#undef CUPOLA_ROUNDING

struct copysign {
    template <class T>
    __device__ static T of(T x, T y) {
        return ::copysign(x, y);
    }
};

template <class T>
constexpr T pi = T(3.141592653589793238462643383279502884);

struct deg2rad {
    template <class T>
    __device__ static T of(T x, T) {
        return x * (pi<T> / 180);
    }
};
struct rad2deg {
    template <class T>
    __device__ static T of(T x, T) {
        return x * (180 / pi<T>);
    }
};

}  // namespace cupola::arrays::arithmetic
