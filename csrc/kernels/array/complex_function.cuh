// csrc/kernels/array/complex_function.cuh - functions of complex numbers.
//
// The branch cuts are those of C and NumPy; the sign of a zero selects the side. Inverse functions
// use Kahan's formulas (Branch Cuts for Complex Elementary Functions, 1987), which do not cancel.
// At infinities and NaN the values are those of annex G of C, and of the array API for expm1.
#pragma once

#include "arithmetic.cuh"
#include "function.cuh"

namespace cupola::arrays::function {

template <class R>
constexpr R half_pi = R(1.570796326794896619231321691639751442);
template <class R>
constexpr R ln2 = R(0.693147180559945309417232121458176568);

template <class R>
__device__ Complex<R> times(Complex<R> z, R factor) {
    return {z.real * factor, z.imag * factor};
}
// i z
template <class R>
__device__ Complex<R> turned(Complex<R> z) {
    return {-z.imag, z.real};
}
// z / i
template <class R>
__device__ Complex<R> turned_back(Complex<R> z) {
    return {z.imag, -z.real};
}

// log |z|: near the unit circle, log1p(|z|^2 - 1) keeps the precision.
template <class R>
__device__ R log_absolute(Complex<R> z) {
    const R a = ::fabs(z.real), b = ::fabs(z.imag);
    const R most = a > b ? a : b, least = a > b ? b : a;
    if (most > R(0.5) && most < R(1.5)) return ::log1p((most - 1) * (most + 1) + least * least) / 2;
    return ::log(::hypot(z.real, z.imag));
}

// Avoids an intermediate overflow if the product does not overflow.
template <class R>
__device__ R scaled_product(R exponent, R factor) {
    if (factor == 0) return factor;
    const R half = ::exp(exponent / 2);
    return half * factor * half;
}

template <class R>
__device__ Complex<R> exp::of(Complex<R> z, Complex<R>) {
    if (z.imag == 0) return {::exp(z.real), z.imag};
    if (z.real == -R(HUGE_VAL) && !isfinite(z.imag)) return {0, 0};
    if (z.real == R(HUGE_VAL) && !isfinite(z.imag)) return {z.real, R(NAN)};
    return {scaled_product(z.real, ::cos(z.imag)), scaled_product(z.real, ::sin(z.imag))};
}
template <class R>
__device__ Complex<R> exp2::of(Complex<R> z, Complex<R>) {
    if (z.imag == 0 || !isfinite(z.real) || !isfinite(z.imag)) {
        const Complex<R> to_e = times(z, ln2<R>);
        return exp::of(to_e, to_e);
    }
    const R half = ::exp2(z.real / 2), angle = z.imag * ln2<R>;
    return {half * ::cos(angle) * half, half * ::sin(angle) * half};
}
template <class R>
__device__ Complex<R> expm1::of(Complex<R> z, Complex<R>) {
    if (z.imag == 0) return {::expm1(z.real) + R(0), z.imag};  // -0 becomes 0
    if (isinf(z.real) && !isfinite(z.imag)) {
        if (z.real < 0) return {-1, ::copysign(R(0), z.imag)};
        return {z.real, R(NAN)};
    }
    const R half = ::sin(z.imag / 2);
    return {::expm1(z.real) * ::cos(z.imag) - 2 * half * half, ::exp(z.real) * ::sin(z.imag)};
}
template <class R>
__device__ Complex<R> log::of(Complex<R> z, Complex<R>) {
    return {log_absolute(z), ::atan2(z.imag, z.real)};
}
template <class R>
__device__ Complex<R> log2::of(Complex<R> z, Complex<R>) {
    return times(log::of(z, z), R(1.442695040888963407359924681001892137));
}
template <class R>
__device__ Complex<R> log10::of(Complex<R> z, Complex<R>) {
    return times(log::of(z, z), R(0.434294481903251827651128918916605082));
}
template <class R>
__device__ Complex<R> log1p::of(Complex<R> z, Complex<R>) {
    const R a = ::fabs(z.real), b = ::fabs(z.imag);
    const R size = a < R(0.5) && b < R(0.5) ? ::log1p(z.real * (z.real + 2) + z.imag * z.imag) / 2
                                            : log_absolute(Complex<R>{z.real + 1, z.imag});
    return {size, ::atan2(z.imag, z.real + 1)};
}

template <class R>
__device__ Complex<R> root(Complex<R> z) {
    const R a = ::fabs(z.real), b = ::fabs(z.imag);
    if (b == R(HUGE_VAL)) return {b, z.imag};
    if (a == 0 && b == 0) return {0, z.imag};
    if (a == R(HUGE_VAL)) {
        const R other = z.imag != z.imag ? z.imag : R(0);
        if (z.real > 0) return {a, ::copysign(other, z.imag)};
        return {other, ::copysign(a, z.imag)};
    }
    // a and b are scaled by a power of 4. This is exact, and avoids overflow and underflow.
    const R scale = a > R(1e30) || b > R(1e30)     ? R(0.0625)
                    : a < R(1e-30) && b < R(1e-30) ? R(sizeof(R) == 8 ? 0x1p108 : 0x1p48)
                                                   : R(1);
    const R size = ::sqrt((a * scale + ::hypot(a * scale, b * scale)) / 2);
    const R back = ::sqrt(scale);
    const R other = b * scale / (2 * size);
    if (z.real >= 0) return {size / back, ::copysign(other / back, z.imag)};
    return {other / back, ::copysign(size / back, z.imag)};
}
template <class R>
__device__ Complex<R> sqrt::of(Complex<R> z, Complex<R>) {
    return root(z);
}

template <class R>
__device__ Complex<R> sinh::of(Complex<R> z, Complex<R>) {
    if (z.imag == 0) return {::sinh(z.real), z.imag};
    if (!isfinite(z.imag) && (z.real == 0 || isinf(z.real))) return {z.real, R(NAN)};
    return {::sinh(z.real) * ::cos(z.imag), ::cosh(z.real) * ::sin(z.imag)};
}
template <class R>
__device__ Complex<R> cosh::of(Complex<R> z, Complex<R>) {
    if (z.imag == 0) return {::cosh(z.real), ::copysign(R(1), z.real) * z.imag};
    if (!isfinite(z.imag)) {
        if (z.real == 0) return {R(NAN), 0};
        if (isinf(z.real)) return {R(HUGE_VAL), R(NAN)};
    }
    return {::cosh(z.real) * ::cos(z.imag), ::sinh(z.real) * ::sin(z.imag)};
}
template <class R>
__device__ Complex<R> tanh::of(Complex<R> z, Complex<R>) {
    const R far = sizeof(R) == 8 ? R(22) : R(11);
    if (z.imag == 0) return {::tanh(z.real), z.imag};
    if (z.real == 0 && !isfinite(z.imag)) return {z.real, R(NAN)};
    if (::fabs(z.real) > far) {
        if (!isfinite(z.imag) && !isinf(z.real)) return {R(NAN), R(NAN)};
        const R product =
            isfinite(z.imag) ? 4 * ::sin(z.imag) * ::cos(z.imag) : ::copysign(R(0), z.imag);
        return {::copysign(R(1), z.real), product * ::exp(-2 * ::fabs(z.real))};
    }
    const R t = ::tan(z.imag), beta = 1 + t * t, s = ::sinh(z.real), rho = ::sqrt(1 + s * s);
    if (::fabs(t) == R(HUGE_VAL)) return {rho / s, 1 / t};
    const R below = 1 + beta * s * s;
    return {beta * rho * s / below, t / below};
}
template <class R>
__device__ Complex<R> sin::of(Complex<R> z, Complex<R>) {
    const Complex<R> i = turned(z);
    return turned_back(sinh::of(i, i));
}
template <class R>
__device__ Complex<R> cos::of(Complex<R> z, Complex<R>) {
    const Complex<R> i = turned(z);
    return cosh::of(i, i);
}
template <class R>
__device__ Complex<R> tan::of(Complex<R> z, Complex<R>) {
    const Complex<R> i = turned(z);
    return turned_back(tanh::of(i, i));
}

// The imaginary part of conj(z) w, and the real part of z w.
template <class R>
__device__ R cross(Complex<R> z, Complex<R> w) {
    return z.real * w.imag - z.imag * w.real;
}

template <class R>
__device__ Complex<R> arcsin::of(Complex<R> z, Complex<R>) {
    if (isinf(z.real)) {
        if (z.imag != z.imag) return {z.imag, z.real};
        const R turn = isinf(z.imag) ? half_pi<R> / 2 : half_pi<R>;
        return {::copysign(turn, z.real), ::copysign(R(HUGE_VAL), z.imag)};
    }
    if (z.real == 0 && isnan(z.imag)) return z;
    const Complex<R> below = root(Complex<R>{1 - z.real, -z.imag});
    const Complex<R> above = root(Complex<R>{1 + z.real, z.imag});
    return {::atan2(z.real, below.real * above.real - below.imag * above.imag),
            ::asinh(cross(below, above))};
}
// The angle of a number with an infinite imaginary part, without its sign.
template <class R>
__device__ R infinite_angle(R real) {
    if (!isinf(real)) return isnan(real) ? real : half_pi<R>;
    return real > 0 ? half_pi<R> / 2 : 3 * (half_pi<R> / 2);
}
template <class R>
__device__ Complex<R> arccos::of(Complex<R> z, Complex<R>) {
    if (isinf(z.imag)) return {infinite_angle(z.real), -z.imag};
    if (isnan(z.imag)) {
        if (z.real == 0) return {half_pi<R>, z.imag};
        if (isinf(z.real)) return {z.imag, -R(HUGE_VAL)};
    }
    const Complex<R> below = root(Complex<R>{1 - z.real, -z.imag});
    const Complex<R> above = root(Complex<R>{1 + z.real, z.imag});
    return {2 * ::atan2(below.real, above.real), ::asinh(cross(above, below))};
}
template <class R>
__device__ Complex<R> arcsinh::of(Complex<R> z, Complex<R>) {
    const Complex<R> i = turned(z);
    return turned_back(arcsin::of(i, i));
}
template <class R>
__device__ Complex<R> arccosh::of(Complex<R> z, Complex<R>) {
    if (isinf(z.imag)) return {R(HUGE_VAL), ::copysign(infinite_angle(z.real), z.imag)};
    if (isnan(z.imag)) {
        if (z.real == 0) return {z.imag, half_pi<R>};
        if (isinf(z.real)) return {R(HUGE_VAL), z.imag};
    }
    const Complex<R> below = root(Complex<R>{z.real - 1, z.imag});
    const Complex<R> above = root(Complex<R>{z.real + 1, z.imag});
    return {::asinh(below.real * above.real + below.imag * above.imag),
            2 * ::atan2(below.imag, above.real)};
}
template <class R>
__device__ Complex<R> arctanh::of(Complex<R> z, Complex<R>) {
    if (isnan(z.imag) && (z.real == 0 || isinf(z.real))) return {::copysign(R(0), z.real), z.imag};
    const R a = ::fabs(z.real);
    const R distance = (1 - a) * (1 - a) + z.imag * z.imag;
    const R half = ::log1p(4 * a / distance) / 4;
    const R turn = ::atan2(2 * z.imag, (1 - a) * (1 + a) - z.imag * z.imag) / 2;
    if (isinf(z.real) || isinf(z.imag))
        return {::copysign(R(0), z.real), ::copysign(half_pi<R>, z.imag)};
    return {::copysign(half, z.real), turn};
}
template <class R>
__device__ Complex<R> arctan::of(Complex<R> z, Complex<R>) {
    const Complex<R> i = turned(z);
    return turned_back(arctanh::of(i, i));
}

// Integer powers are products; other powers use logarithms.
template <class R>
__device__ Complex<R> power::of(Complex<R> z, Complex<R> w) {
    if (w.real == 0 && w.imag == 0) return {1, 0};
    if (z.real == 0 && z.imag == 0) {
        if (w.real > 0) return {0, 0};
        return {R(NAN), R(NAN)};
    }
    const int whole = static_cast<int>(w.real);
    if (w.imag == 0 && w.real == whole && whole > -100 && whole < 100) {
        Complex<R> result{1, 0}, factor = z;
        for (unsigned n = whole < 0 ? -whole : whole;;) {
            if (n & 1) result = arithmetic::multiply::of(result, factor);
            n >>= 1;
            if (!n) break;
            factor = arithmetic::multiply::of(factor, factor);
        }
        return whole < 0 ? arithmetic::divide::of(Complex<R>{1, 0}, result) : result;
    }
    const Complex<R> exponent = arithmetic::multiply::of(w, log::of(z, z));
    return exp::of(exponent, exponent);
}

template <class R>
__device__ Complex<R> sign::of(Complex<R> z, Complex<R>) {
    const R size = ::hypot(z.real, z.imag);
    if (size == 0) return {0, 0};
    if (isinf(size)) {
        const bool real = ::fabs(z.real) == size, imag = ::fabs(z.imag) == size;
        if (real && imag) return {R(NAN), R(NAN)};
        return {real ? ::copysign(R(1), z.real) : R(0), imag ? ::copysign(R(1), z.imag) : R(0)};
    }
    return {z.real / size, z.imag / size};  // a NaN returns itself
}

}  // namespace cupola::arrays::function
