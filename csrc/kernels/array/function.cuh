// csrc/kernels/array/function.cuh - operations of many instructions: functions of real numbers.
//
// Each function has its own kernel. CUDA's functions are within 1 to 4 ulp of the exact value, and
// NumPy's have similar errors. Quotients and remainders are exact and follow Python's rules.
#pragma once

#include "types.cuh"

namespace cupola::arrays::function {

// The default result type; functions that map complex to real override it.
struct SameResult {
    template <class T>
    using Result = T;
};

#define CUPOLA_FUNCTION(name, called)                                   \
    struct name : SameResult {                                          \
        __device__ static f32 of(f32 x, f32) { return ::called##f(x); } \
        __device__ static f64 of(f64 x, f64) { return ::called(x); }    \
        template <class R>                                              \
        __device__ static Complex<R> of(Complex<R> z, Complex<R>);      \
    };
CUPOLA_FUNCTION(exp, exp)
CUPOLA_FUNCTION(exp2, exp2)
CUPOLA_FUNCTION(expm1, expm1)
CUPOLA_FUNCTION(log, log)
CUPOLA_FUNCTION(log2, log2)
CUPOLA_FUNCTION(log10, log10)
CUPOLA_FUNCTION(log1p, log1p)
CUPOLA_FUNCTION(sqrt, sqrt)
CUPOLA_FUNCTION(cbrt, cbrt)
CUPOLA_FUNCTION(sin, sin)
CUPOLA_FUNCTION(cos, cos)
CUPOLA_FUNCTION(tan, tan)
CUPOLA_FUNCTION(arcsin, asin)
CUPOLA_FUNCTION(arccos, acos)
CUPOLA_FUNCTION(arctan, atan)
CUPOLA_FUNCTION(sinh, sinh)
CUPOLA_FUNCTION(cosh, cosh)
CUPOLA_FUNCTION(tanh, tanh)
CUPOLA_FUNCTION(arcsinh, asinh)
CUPOLA_FUNCTION(arccosh, acosh)
CUPOLA_FUNCTION(arctanh, atanh)
#undef CUPOLA_FUNCTION

struct arctan2 : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        return ::atan2(x, y);
    }
};
struct hypot : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        return ::hypot(x, y);
    }
};

struct fmod : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        return ::fmod(x, y);
    }
};

// The remainder has the divisor's sign, even if it is zero.
template <class T>
__device__ T floored(T rest, T y) {
    if (rest == 0) return ::copysign(T(0), y);
    return (y < 0) != (rest < 0) ? rest + y : rest;
}
struct remainder : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        const T rest = ::fmod(x, y);
        return y == 0 ? rest : floored(rest, y);
    }
};
struct floor_divide : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        if (y == 0) return x / y;
        const T rest = ::fmod(x, y);
        T quotient = (x - rest) / y;
        if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
        if (quotient == 0) return ::copysign(T(0), x / y);
        const T whole = ::floor(quotient);
        return quotient - whole > T(0.5) ? whole + 1 : whole;
    }
};

// log(exp(x) + exp(y)), without overflow.
struct logaddexp : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        if (x == y) return x + T(0.693147180559945309417232121458176568);
        const T apart = x - y;
        if (apart > 0) return x + ::log1p(::exp(-apart));
        return apart <= 0 ? y + ::log1p(::exp(apart)) : apart;  // a NaN returns itself
    }
};
struct logaddexp2 : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        constexpr T per_bit = T(1.442695040888963407359924681001892137);
        if (x == y) return x + 1;
        const T apart = x - y;
        if (apart > 0) return x + per_bit * ::log1p(::exp2(-apart));
        return apart <= 0 ? y + per_bit * ::log1p(::exp2(apart)) : apart;
    }
};

struct power : SameResult {
    template <class T>
    __device__ static T of(T x, T y) {
        return ::pow(x, y);
    }
    template <class R>
    __device__ static Complex<R> of(Complex<R> z, Complex<R> w);
};

struct absolute {
    template <class T>
    using Result = real_of<T>;
    template <class R>
    __device__ static R of(Complex<R> z, Complex<R>) {
        return ::hypot(z.real, z.imag);
    }
};
// z / |z|
struct sign : SameResult {
    template <class R>
    __device__ static Complex<R> of(Complex<R> z, Complex<R>);
};

}  // namespace cupola::arrays::function
