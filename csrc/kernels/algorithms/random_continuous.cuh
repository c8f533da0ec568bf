// csrc/kernels/algorithms/random_continuous.cuh - continuous distributions of up to three
// parameters.
#pragma once

#include "../constants.h"
#include "random_numbers.cuh"

namespace cupola::random {

using namespace constants;

// A gamma number is value * exp(exponent): a number of a small shape can be below the least double.
struct GammaParts {
    double value, exponent;

    // Two multiplications: the first result may be below the least double until a large scale lifts
    // it.
    __device__ double times(double scale) const {
        const double root = exp(exponent / 2);
        return value * root * scale * root;
    }
};

// Marsaglia, Tsang: A simple method for generating gamma variables (2000).
template <class N>
__device__ __noinline__ GammaParts gamma_parts(N& numbers, double shape) {
    if (!(shape > 0 && shape < INFINITY)) return {shape < 0 ? NAN : shape, 0};
    double exponent = 0;
    if (shape < 1) {
        exponent = log(numbers.positive()) / shape;
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = numbers.normal(), root = 1 + c * x, v = root * root * root;
        // At large shapes less than one number in 2^33 is rejected, and the terms cancel.
        if (v > 0 && (d > 0x1p33 || log(numbers.positive()) < 0.5 * x * x + d * (1 - v + log(v))))
            return {d * v, exponent};
    }
}

// For small shapes, in logarithms, because both gamma numbers may round to zero (Johnk 1964).
template <class N>
__device__ double beta_of(N& numbers, double a, double b) {
    if (!(a > 0 && b > 0)) return NAN;
    if (a > 1 || b > 1) {
        const GammaParts x = gamma_parts(numbers, a), y = gamma_parts(numbers, b);
        return 1 / (1 + y.value / x.value * exp(y.exponent - x.exponent));
    }
    // All numbers would round to 0 or 1, and the logarithms below could overflow.
    if (a < 0x1p-300 && b < 0x1p-300) return numbers.uniform() < a / (a + b);
    for (;;) {
        const double x = log(numbers.positive()) / a, y = log(numbers.positive()) / b;
        const double larger = fmax(x, y), sum = larger + log(exp(x - larger) + exp(y - larger));
        if (sum <= 0) return exp(x - sum);
    }
}

// The quotient of two gamma numbers, each divided by its count of degrees of freedom. Of counts
// below 2^-1000 the numbers are zero, and the quotient with the count could overflow.
__device__ inline double quotient_of_means(GammaParts x, double a, GammaParts y, double b) {
    const double numerator = x.value / fmax(a, 0x1p-1000);
    const double denominator = y.value / fmax(b, 0x1p-1000);
    return numerator / denominator * exp(x.exponent - y.exponent);
}

// Michael, Schucany, Haas: Generating random variates using transformations with multiple roots
// (1976). The smaller root is mean * ratio, without a difference of large terms.
template <class N>
__device__ double wald_of(N& numbers, double mean, double scale) {
    const double z = numbers.normal(), t = 0.5 * (mean / scale) * z * z;
    if (t > 0x1p60) return scale / (z * z);  // the limit of mean * ratio, which could overflow
    const double ratio = 1 / (1 + t + sqrt(t) * sqrt(t + 2));
    return numbers.uniform() * (1 + ratio) < 1 ? mean * ratio : mean / ratio;
}

// Computes with halves of the parameters where their difference overflows.
template <class N>
__device__ double triangular_of(N& numbers, double left, double mode, double right) {
    if (left > mode || mode > right || left == right) return NAN;
    const double u = numbers.uniform(), unit = isinf(right - left) ? 0.5 : 1;
    const double width = right * unit - left * unit;
    const double before = (mode * unit - left * unit) / width;
    const double after = (right * unit - mode * unit) / width;
    const bool rises = u <= before;
    const double share = sqrt(rises ? u * before : (1 - u) * after);
    const double from = rises ? left : right, to = rises ? right : left;
    const double made = fma(share, to, fma(-share, from, from));
    return isnan(made) ? made : fmin(fmax(made, left), right);
}

// Whether the distribution exists for these parameters. With NaN the result is NaN in any case.
__device__ inline bool in_range(Continuous kind, double a, double b) {
    switch (kind) {
        case Continuous::lognormal:
        case Continuous::laplace:
        case Continuous::logistic:
        case Continuous::gumbel:
            return !(b < 0);
        case Continuous::rayleigh:
        case Continuous::weibull:
            return !(a < 0);
        case Continuous::gamma:
            return !(a < 0 || b < 0);
        case Continuous::pareto:
        case Continuous::power:
        case Continuous::chisquare:
        case Continuous::standard_t:
            return !(a <= 0);
        case Continuous::beta:
        case Continuous::f:
        case Continuous::wald:
            return !(a <= 0 || b <= 0);
        default:
            return true;
    }
}

template <class N>
__device__ __noinline__ double continuous(Continuous kind, N& numbers, double a, double b,
                                          double c) {
    if (!in_range(kind, a, b)) return NAN;
    switch (kind) {
        case Continuous::lognormal:
            return exp(a + b * numbers.normal());
        case Continuous::laplace: {
            const u64 bits = numbers.bits();
            const double size = -log(positive_unit(bits));  // without the lowest bit
            return a + (bits & 1 ? b : -b) * size;
        }
        case Continuous::logistic: {
            const double u = numbers.open();
            return a + b * (log(u) - log1p(-u));
        }
        case Continuous::gumbel:
            return a - b * log(-log(numbers.open()));
        case Continuous::rayleigh:
            return a * sqrt(2 * numbers.exponential());
        case Continuous::weibull:
            return a == 0 ? 0 : pow(numbers.exponential(), 1 / a);
        case Continuous::pareto:
            return expm1(numbers.exponential() / a);
        case Continuous::power:
            return pow(-expm1(-numbers.exponential()), 1 / a);
        case Continuous::triangular:
            return triangular_of(numbers, a, b, c);
        case Continuous::standard_cauchy: {
            double sine, cosine;
            sincospi(numbers.open() - 0.5, &sine, &cosine);
            return sine / cosine;
        }
        case Continuous::gamma:
            return gamma_parts(numbers, a).times(b);
        case Continuous::beta:
            return beta_of(numbers, a, b);
        case Continuous::chisquare:
            return gamma_parts(numbers, a / 2).times(2);
        case Continuous::f: {
            const GammaParts x = gamma_parts(numbers, a / 2);
            return quotient_of_means(x, a, gamma_parts(numbers, b / 2), b);
        }
        case Continuous::standard_t: {
            const double z = numbers.normal();
            const GammaParts x = gamma_parts(numbers, a / 2);
            return z * sqrt(a / (2 * x.value)) * exp(x.exponent / -2);
        }
        case Continuous::wald:
            return wald_of(numbers, a, b);
    }
    return NAN;
}

}  // namespace cupola::random
