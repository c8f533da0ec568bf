/* tests/ptx/toolkit/exact.c - functions of real numbers in long double, for references: more exact
   by eleven bits and more than what they are compared with. */
#define _GNU_SOURCE
#include <math.h>

typedef long double real;
static const real pi = 3.14159265358979323846264338327950288L;

static real sine_of_pi(real x, int quarter) { /* sin(pi x), cos(pi x) for quarter 1 */
    real r = fmodl(x, 2), k = rintl(2 * r), f = r - k / 2;
    int q = ((int)k + quarter) & 3;
    real value = (q & 1) ? cosl(pi * f) : sinl(pi * f);
    if (f == 0) value = (q & 1) ? 1 : copysignl(0, x);
    if (f == 0 && quarter && !(q & 1)) return 0;
    return (q & 2) && value != 0 ? -value : value;
}
static real error_scaled(real x) { /* exp(x^2) erfc(x) */
    if (x < 25) return expl(x * x) * erfcl(x);
    real t = 1 / (2 * x * x), term = 1, sum = 1;
    for (int n = 1; n < 12; ++n) sum += term *= -(2 * n - 1) * t;
    return sum / (x * sqrtl(pi));
}
static real inverse_complement(real x) { /* y with erfc(y) = x */
    if (!(x >= 0 && x <= 2)) return NAN;
    if (x == 0 || x == 2) return x == 0 ? INFINITY : -INFINITY;
    if (x > 1) return -inverse_complement(2 - x);
    real y = x > 0.3L ? (1 - x) * sqrtl(pi) / 2 : sqrtl(-logl(x * sqrtl(pi * -logl(x))));
    for (int n = 0; n < 60; ++n) {
        real value = erfcl(y), step = (logl(value) - logl(x)) * value * sqrtl(pi) / 2 * expl(y * y);
        if (x > 0.3L) step = (value - x) * sqrtl(pi) / 2 * expl(y * y);
        y += step;
        if (fabsl(step) <= 1e-20L * fabsl(y)) break;
    }
    return y;
}
static real inverse_error(real x) {
    if (!(fabsl(x) <= 1)) return NAN;
    if (fabsl(x) > 0.5L) return copysignl(inverse_complement(1 - fabsl(x)), x);
    real y = x * sqrtl(pi) / 2;
    for (int n = 0; n < 30; ++n) y += (x - erfl(y)) * sqrtl(pi) / 2 * expl(y * y);
    return x == 0 ? x : y;
}
static real bessel_i(int order, real x) {
    real q = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int n = 1; n < 3000 && term != 0; ++n) sum += term *= q / ((real)n * (n + order));
    return sum;
}

#define ONE(name, expression)                                   \
    void name(const real* x, real* out, int count) {            \
        for (int i = 0; i < count; ++i) {                       \
            const real a = x[i];                                \
            out[i] = (expression);                              \
        }                                                       \
    }
#define TWO(name, expression)                                          \
    void name(const real* x, const real* y, real* out, int count) {    \
        for (int i = 0; i < count; ++i) {                              \
            const real a = x[i], b = y[i];                             \
            out[i] = (expression);                                     \
        }                                                              \
    }
ONE(x_rsqrt, 1 / sqrtl(a)) ONE(x_cbrt, cbrtl(a)) ONE(x_rcbrt, 1 / cbrtl(a)) ONE(x_exp, expl(a))
ONE(x_exp2, exp2l(a)) ONE(x_exp10, exp10l(a)) ONE(x_expm1, expm1l(a)) ONE(x_log, logl(a))
ONE(x_log2, log2l(a)) ONE(x_log10, log10l(a)) ONE(x_log1p, log1pl(a)) ONE(x_sin, sinl(a))
ONE(x_cos, cosl(a)) ONE(x_tan, tanl(a)) ONE(x_asin, asinl(a)) ONE(x_acos, acosl(a))
ONE(x_atan, atanl(a)) ONE(x_sinh, sinhl(a)) ONE(x_cosh, coshl(a)) ONE(x_tanh, tanhl(a))
ONE(x_asinh, asinhl(a)) ONE(x_acosh, acoshl(a)) ONE(x_atanh, atanhl(a)) ONE(x_erf, erfl(a))
ONE(x_erfc, erfcl(a)) ONE(x_tgamma, tgammal(a)) ONE(x_lgamma, lgammal(a)) ONE(x_j0, j0l(a))
ONE(x_j1, j1l(a)) ONE(x_y0, y0l(a)) ONE(x_y1, y1l(a)) ONE(x_sinpi, sine_of_pi(a, 0))
ONE(x_cospi, sine_of_pi(a, 1)) ONE(x_erfcx, error_scaled(a)) ONE(x_erfcinv, inverse_complement(a))
ONE(x_erfinv, inverse_error(a)) ONE(x_normcdf, erfcl(-a / sqrtl(2)) / 2)
ONE(x_normcdfinv, -sqrtl(2) * inverse_complement(2 * a))
ONE(x_cyl_bessel_i0, bessel_i(0, a)) ONE(x_cyl_bessel_i1, bessel_i(1, a)) 
ONE(x_ceil, ceill(a)) ONE(x_floor, floorl(a)) ONE(x_trunc, truncl(a)) ONE(x_rint, rintl(a))
ONE(x_nearbyint, nearbyintl(a)) ONE(x_round, roundl(a)) ONE(x_fabs, fabsl(a))
TWO(x_hypot, hypotl(a, b)) TWO(x_rhypot, 1 / hypotl(a, b)) TWO(x_pow, powl(a, b))
TWO(x_atan2, atan2l(a, b)) TWO(x_fmod, fmodl(a, b)) TWO(x_remainder, remainderl(a, b))
TWO(x_fdim, fdiml(a, b)) TWO(x_fmax, fmaxl(a, b)) TWO(x_fmin, fminl(a, b))
TWO(x_copysign, copysignl(a, b)) TWO(x_jn, jnl((int)a, b)) TWO(x_yn, ynl((int)a, b))
TWO(x_norm3d, sqrtl(a * a + b * b + a * a / 4)) TWO(x_rnorm3d, 1 / sqrtl(a * a + b * b + a * a / 4))
TWO(x_norm4d, sqrtl(a * a + b * b + a * a / 4 + b * b / 4))
TWO(x_rnorm4d, 1 / sqrtl(a * a + b * b + a * a / 4 + b * b / 4))
