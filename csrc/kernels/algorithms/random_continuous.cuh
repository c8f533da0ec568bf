// csrc/kernels/algorithms/random_continuous.cuh - continuous distributions of up to three
// parameters.
#pragma once

#include "random_numbers.cuh"

namespace cupola::random {

// Marsaglia, Tsang: A simple method for generating gamma variables (2000).
template <class N>
__device__ __noinline__ double gamma_of(N& numbers, double shape) {
    if (!(shape > 0 && shape < INFINITY)) return shape < 0 ? NAN : shape;
    double boost = 1;
    if (shape < 1) {
        boost = pow(numbers.positive(), 1 / shape);
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = numbers.normal(), root = 1 + c * x, v = root * root * root;
        if (v > 0 && log(numbers.positive()) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

// Of small shapes, by logarithms: both gamma numbers may round to zero (Johnk 1964).
template <class N>
__device__ double beta_of(N& numbers, double a, double b) {
    if (!(a > 0 && b > 0)) return NAN;
    if (a > 1 || b > 1) {
        const double x = gamma_of(numbers, a), y = gamma_of(numbers, b);
        return x / (x + y);
    }
    for (;;) {
        const double x = log(numbers.positive()) / a, y = log(numbers.positive()) / b;
        const double larger = fmax(x, y), sum = larger + log(exp(x - larger) + exp(y - larger));
        if (sum <= 0) return exp(x - sum);
    }
}

// Michael, Schucany, Haas: Generating random variates using transformations with multiple roots
// (1976).
template <class N>
__device__ double wald_of(N& numbers, double mean, double scale) {
    const double z = numbers.normal(), y = mean * z * z;
    const double x = mean + mean / (2 * scale) * (y - sqrt(4 * scale * y + y * y));
    return numbers.uniform() <= mean / (mean + x) ? x : mean * mean / x;
}

template <class N>
__device__ double triangular_of(N& numbers, double left, double mode, double right) {
    const double u = numbers.uniform(), width = right - left, before = mode - left;
    return u <= before / width ? left + sqrt(u * before * width)
                               : right - sqrt((1 - u) * (right - mode) * width);
}

// In the order of continuous_kinds in package/cupola/random/distributions.py.
enum class Continuous {
    lognormal,
    laplace,
    logistic,
    gumbel,
    rayleigh,
    weibull,
    pareto,
    power,
    triangular,
    standard_cauchy,
    gamma,
    beta,
    chisquare,
    f,
    standard_t,
    wald
};

template <class N>
__device__ __noinline__ double continuous(Continuous kind, N& numbers, double a, double b,
                                          double c) {
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
            return b * gamma_of(numbers, a);
        case Continuous::beta:
            return beta_of(numbers, a, b);
        case Continuous::chisquare:
            return 2 * gamma_of(numbers, a / 2);
        case Continuous::f: {
            const double x = gamma_of(numbers, a / 2) / a;
            return x / (gamma_of(numbers, b / 2) / b);
        }
        case Continuous::standard_t: {
            const double z = numbers.normal();
            return z * sqrt(a / (2 * gamma_of(numbers, a / 2)));
        }
        case Continuous::wald:
            return wald_of(numbers, a, b);
    }
    return NAN;
}

}  // namespace cupola::random
