// csrc/kernels/algorithms/random_rare.cuh - distributions that few programs use.
#pragma once

#include "random_discrete.cuh"

namespace cupola::random {

// Half of a number, as a gamma number.
template <class N>
__device__ GammaParts noncentral_parts(N& numbers, double freedom, double noncentrality) {
    if (!(freedom > 0 && noncentrality >= 0)) return {NAN, 0};
    // At 2^62, the rounding error of the number is larger than one degree of freedom.
    if (freedom > 1 || noncentrality >= 0x1p62) {
        const double z = numbers.normal() + sqrt(noncentrality);
        const GammaParts more = gamma_parts(numbers, fmax(freedom - 1, 0.0) / 2);
        return {more.times(1) + z * z / 2, 0};
    }
    const double more = poisson_of(numbers, noncentrality / 2);
    return gamma_parts(numbers, freedom / 2 + more);
}

// Best, Fisher: Efficient simulation of the von Mises distribution (1979).
template <class N>
__device__ double vonmises_of(N& numbers, double mean, double kappa) {
    if (!(kappa >= 0)) return NAN;
    if (kappa < 1e-8) return pi * (2 * numbers.uniform() - 1);
    double angle;
    if (kappa > 1e6) {  // normal to the precision of a double
        angle = fmin(fmax(numbers.normal() / sqrt(kappa), -pi), pi);
    } else {
        double s = 1 / kappa + kappa;
        if (kappa > 1e-5) {
            const double r = 1 + sqrt(1 + 4 * kappa * kappa);
            const double rho = (r - sqrt(2 * r)) / (2 * kappa);
            s = (1 + rho * rho) / (2 * rho);
        }
        double cosine;
        for (;;) {
            const double z = cospi(numbers.uniform());
            cosine = (1 + s * z) / (s + z);
            const double y = kappa * (s - cosine), v = numbers.positive();
            if (y * (2 - y) >= v || log(y / v) + 1 >= y) break;
        }
        angle = acos(fmin(fmax(cosine, -1.0), 1.0));
        if (numbers.uniform() < 0.5) angle = -angle;
    }
    return remainder(angle + mean, 2 * pi);
}

template <class N>
__device__ double hypergeometric_by_drawing(N& numbers, double good, double total, double draws) {
    double found = 0;
    for (; draws > 0; --draws, --total)
        if (numbers.uniform() * total < good - found) ++found;
    return found;
}

// Stadlober: Sampling from Poisson, binomial and hypergeometric distributions: ratio of uniforms as
// a simple and fast alternative (1989). `few` are not more than `many`; `draws` at most half of
// all.
template <class N>
__device__ double hypergeometric_by_rejection(N& numbers, double few, double many, double draws) {
    const double total = few + many, share = few / total, centre = draws * share + 0.5;
    const double spread = (total - draws) * draws * share * (1 - share) / (total - 1);
    const double deviation = sqrt(spread + 0.5);
    // 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e).
    const double width = 1.7155277699214135 * deviation + 0.8989161620588988;
    const auto terms = [=](double k) {
        return lgamma(k + 1) + lgamma(few - k + 1) + lgamma(draws - k + 1) +
               lgamma(many - draws + k + 1);
    };
    const double peak = terms(floor((draws + 1) * (few + 1) / (total + 2)));
    const double end = fmin(fmin(draws, few) + 1, floor(centre + 16 * deviation));
    for (;;) {
        const double u = numbers.positive(), v = numbers.uniform();
        const double at = centre + width * (v - 0.5) / u;
        if (!(at >= 0 && at < end)) continue;
        const double k = floor(at), ratio = peak - terms(k);
        if (u * (4 - u) - 3 <= ratio) return k;
        if (u * (u - ratio) < 1 && 2 * log(u) <= ratio) return k;
    }
}

template <class N>
__device__ __noinline__ double hypergeometric_of(N& numbers, double good, double bad,
                                                 double draws) {
    const double total = good + bad, least = fmin(draws, total - draws);
    double found;
    if (least < 10) {
        found = hypergeometric_by_drawing(numbers, good, total, least);
    } else {
        found = hypergeometric_by_rejection(numbers, fmin(good, bad), fmax(good, bad), least);
        if (good > bad) found = least - found;
    }
    return draws > least ? good - found : found;  // the number of good items that are left
}

// Kemp: Efficient generation of logarithmically distributed pseudo-random variables (1981).
template <class N>
__device__ double logseries_of(N& numbers, double p) {
    const double rate = log1p(-p);
    for (;;) {
        const double v = numbers.positive();
        if (v >= p) return 1;
        const double power = rate * numbers.positive(), q = -expm1(power);
        if (v > q) return 1;
        if (v > q * q) return 2;
        const double k = floor(1 + log(v) / log1p(-exp(power)));
        if (k >= 1) return k;
    }
}

// Devroye: Non-uniform random variate generation (1986), chapter 10.6, up to 2^63. By logarithms:
// near a = 1 the powers are close to 1.
template <class N>
__device__ double zipf_of(N& numbers, double a) {
    if (a >= 1000) return 1;  // as all numbers are, except with a probability of 2^-1000
    const double power = a - 1, log2 = 0.6931471805599453, share = -expm1(-63 * log2 * power);
    for (;;) {
        const double u = numbers.uniform(), v = numbers.uniform();
        const double k = floor(exp(-log1p(-u * share) / power));
        if (!(k >= 1 && k < 0x1p63)) continue;
        const double rise = power * log1p(1 / k);
        if (v * k * expm1(rise) / expm1(power * log2) <= exp(rise - power * log2)) return k;
    }
}

// The logarithm of a gamma number.
template <class N>
__device__ double log_gamma_of(N& numbers, double shape) {
    const GammaParts made = gamma_parts(numbers, shape);
    return log(made.value) + made.exponent;
}

template <class N>
__device__ __noinline__ double rare_continuous(RareContinuous kind, N& numbers, double a, double b,
                                               double c) {
    switch (kind) {
        case RareContinuous::noncentral_chisquare:
            return noncentral_parts(numbers, a, b).times(2);
        case RareContinuous::noncentral_f: {
            if (b <= 0) return NAN;
            const GammaParts x = noncentral_parts(numbers, a, c);
            return quotient_of_means(x, a, gamma_parts(numbers, b / 2), b);
        }
        case RareContinuous::vonmises:
            return vonmises_of(numbers, a, b);
    }
    return NAN;
}

// Parameters out of their range give -1, so that each loop ends.
template <class N>
__device__ i64 rare_discrete(RareDiscrete kind, N& numbers, double a, i64 good, i64 bad,
                             i64 draws) {
    constexpr i64 limit = random_hypergeometric_limit;
    double made = -1;
    switch (kind) {
        case RareDiscrete::hypergeometric:
            if (good >= 0 && good < limit && bad >= 0 && bad < limit && draws >= 0 &&
                draws <= good + bad)
                made = hypergeometric_of(numbers, static_cast<double>(good),
                                         static_cast<double>(bad), static_cast<double>(draws));
            break;
        case RareDiscrete::logseries:
            if (a >= 0 && a < 1) made = logseries_of(numbers, a);
            break;
        case RareDiscrete::zipf:
            if (a > 1) made = zipf_of(numbers, a);
    }
    return made >= 0x1p63 ? INT64_MAX : static_cast<i64>(made);
}

}  // namespace cupola::random
