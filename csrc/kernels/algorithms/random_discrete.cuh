// csrc/kernels/algorithms/random_discrete.cuh - distributions of integers.
#pragma once

#include "random_continuous.cuh"

namespace cupola::random {

constexpr double pi = 3.141592653589793238462643383279502884;

// The logarithm of k! / (k / e)^k, of whole k: Stirling's series.
__device__ __noinline__ double stirling_rest(double k) {
    if (k < 16) {
        double factorial = 1;
        for (double i = 2; i <= k; ++i) factorial *= i;
        return log(factorial) + (k > 0 ? k - k * log(k) : 0);
    }
    const double inverse = 1 / k, square = inverse * inverse;
    return 0.5 * log(2 * pi * k) + inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260));
}

// The logarithm of ((k + x) / e)^k / k!. Loader: Fast and accurate computation of binomial
// probabilities (2000): the error grows with x, while the error of logarithms of factorials grows
// with k.
__device__ inline double log_term(double k, double x) {
    return (k > 0 ? k * log1p(x / k) : 0) - stirling_rest(k);
}

// Hoermann: The transformed rejection method for generating Poisson random variables (1993).
template <class N>
__device__ double poisson_by_rejection(N& numbers, double mean) {
    const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    const double inverse = 1.1239 + 1.1328 / (b - 3.4), height = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = numbers.uniform() - 0.5, v = numbers.positive(), s = 0.5 - fabs(u);
        const double k = floor((2 * a / s + b) * u + mean + 0.43), x = mean - k;
        if (s >= 0.07 && v <= height) return k;
        if (k < 0 || (s < 0.013 && v > s)) continue;
        if (log(v * inverse / (a / (s * s) + b)) <= log_term(k, x) - x) return k;
    }
}

// Multiplies uniform numbers until the product is below exp(-mean) (Knuth). A small mean needs few
// of these numbers; a large mean uses rejection.
template <class N>
__device__ __noinline__ double poisson_of(N& numbers, double mean) {
    if (!(mean < 0x1p63)) return mean;
    if (mean >= 10) return poisson_by_rejection(numbers, mean);
    const double limit = exp(-mean);
    double product = numbers.positive(), count = 0;
    while (product > limit) {
        product *= numbers.positive();
        ++count;
    }
    return count;
}

// Hoermann: The generation of binomial random variates (1993), algorithm BTRS; p is at most 1/2.
template <class N>
__device__ double binomial_by_rejection(N& numbers, double n, double p) {
    const double root = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * root;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
    const double alpha = (2.83 + 5.1 / b) * root, limit = 0.92 - 4.2 / b;
    const double mean = n * p, mode = floor((n + 1) * p);
    const auto density = [=](double k) {
        return log_term(k, mean - k) + log_term(n - k, k - mean);
    };
    const double peak = density(mode);
    for (;;) {
        const double u = numbers.uniform() - 0.5, s = 0.5 - fabs(u), v = numbers.positive();
        const double k = floor((2 * a / s + b) * u + c);
        if (k < 0 || k > n) continue;
        if (s >= 0.07 && v <= limit) return k;
        if (log(v * alpha / (a / (s * s) + b)) <= density(k) - peak) return k;
    }
}

// The number of trials until the next success has a geometric distribution. Adds these numbers up
// to `n`: fast where successes are rare.
template <class N>
__device__ double binomial_by_waiting(N& numbers, double n, double p) {
    const double failure = log1p(-p);
    double count = 0, tried = 0;
    for (;;) {
        tried += floor(log(numbers.positive()) / failure) + 1;
        if (tried > n) return count;
        ++count;
    }
}

template <class N>
__device__ i64 binomial_of(N& numbers, i64 n, double p) {
    const double rare = fmin(p, 1 - p), trials = static_cast<double>(n);
    double made = 0;
    if (trials * rare >= 10)
        made = binomial_by_rejection(numbers, trials, rare);
    else if (rare > 0)
        made = binomial_by_waiting(numbers, trials, rare);
    const i64 count = static_cast<i64>(made);
    return p > 0.5 ? n - count : count;
}

template <class N>
__device__ double geometric_of(N& numbers, double p) {
    return p >= 1 ? 1 : ceil(log(numbers.positive()) / log1p(-p));
}

// The kinds have the order of discrete_kinds in package/cupola/random/distributions.py. Parameters
// out of their range give -1, so that each loop ends.
template <class N>
__device__ i64 discrete(Discrete kind, N& numbers, double a, double b, i64 n) {
    double made = -1;
    switch (kind) {
        case Discrete::poisson:
            if (a >= 0 && a <= random_largest_mean) made = poisson_of(numbers, a);
            break;
        case Discrete::binomial:
            return n >= 0 && a >= 0 && a <= 1 ? binomial_of(numbers, n, a) : -1;
        case Discrete::geometric:
            if (a > 0 && a <= 1) made = fmax(geometric_of(numbers, a), 1.0);
            break;
        case Discrete::negative_binomial:
            if (!(a > 0 && b > 0 && b <= 1)) break;
            if (b == 1) return 0;
            // As NumPy tests: the mean is hardly above the limit in this case.
            if ((1 - b) / b * (a + 10 * sqrt(a)) <= random_largest_mean)
                made = poisson_of(numbers, gamma_parts(numbers, a).times((1 - b) / b));
    }
    return made >= 0x1p63 ? INT64_MAX : static_cast<i64>(made);
}

}  // namespace cupola::random
