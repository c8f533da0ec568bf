// csrc/kernels/algorithms/random_rare.cu - rare distributions, and those of vectors. An image of
// its own: most programs do not load it.
#include "random_each.cuh"
#include "random_rare.cuh"

using namespace cupola::random;

namespace {

template <class T, class Engine>
__device__ void fill_continuous(Engine engine, T* out, u64 n, u64 stride, int kind, Parameter a,
                                Parameter b, Parameter c) {
    fill_each(engine, n, stride, [=](auto& numbers, u64 i) {
        const RareContinuous of{kind};
        out[i] = static_cast<T>(rare_continuous(of, numbers, a.at(i), b.at(i), c.at(i)));
    });
}

template <class Engine>
__device__ void fill_discrete(Engine engine, i64* out, u64 n, u64 stride, int kind, Parameter a,
                              Count good, Count bad, Count draws) {
    fill_each(engine, n, stride, [=](auto& numbers, u64 i) {
        out[i] =
            rare_discrete(RareDiscrete{kind}, numbers, a.at(i), good.at(i), bad.at(i), draws.at(i));
    });
}

// Vectors of `length` numbers. The parameters of vector i are at weights + i * step.

// Each count is a binomial number. `left` and `share` are the trials and the probability that
// remain after the earlier counts.
template <class Engine>
__device__ void multinomial(Engine engine, i64* out, u64 n, u64 stride, Count trials,
                            const double* weights, u64 step, u64 length) {
    fill_each(engine, n / length, stride, [=](auto& numbers, u64 i) {
        const double* p = weights + i * step;
        i64* counts = out + i * length;
        i64 left = trials.at(i);
        double share = 1;
        const bool valid = left >= 0;
        for (u64 j = 0; j + 1 < length; ++j) {
            i64 made = 0;
            if (left > 0 && p[j] > 0)
                made = p[j] < share ? binomial_of(numbers, left, p[j] / share) : left;
            counts[j] = valid ? made : -1;
            left -= made;
            share -= p[j];
        }
        counts[length - 1] = valid ? left : -1;
    });
}

template <class Engine>
__device__ void multivariate_hypergeometric(Engine engine, i64* out, u64 n, u64 stride,
                                            double draws, const double* colors, double total,
                                            u64 length) {
    fill_each(engine, n / length, stride, [=](auto& numbers, u64 i) {
        i64* counts = out + i * length;
        double left = draws, others = total;
        for (u64 j = 0; j + 1 < length; ++j) {
            others -= colors[j];
            const double made = hypergeometric_of(numbers, colors[j], others, left);
            counts[j] = static_cast<i64>(made);
            left -= made;
        }
        counts[length - 1] = static_cast<i64>(left);
    });
}

// Gamma numbers divided by their sum, computed by logarithms: gamma numbers of small shapes may all
// round to zero.
template <class Engine>
__device__ void dirichlet(Engine engine, double* out, u64 n, u64 stride, const double* alpha,
                          u64 length) {
    fill_each(engine, n / length, stride, [=](auto& numbers, u64 i) {
        double *shares = out + i * length, most = -INFINITY, sum = 0;
        for (u64 j = 0; j < length; ++j) {
            shares[j] = alpha[j] > 0 ? log_gamma_of(numbers, alpha[j]) : -INFINITY;
            most = fmax(most, shares[j]);
        }
        for (u64 j = 0; j < length; ++j) sum += shares[j] = exp(shares[j] - most);
        for (u64 j = 0; j < length; ++j) shares[j] /= sum;
    });
}

}  // namespace

#define THREE                                                                                \
    const double *a_array, double a, const double *b_array, double b, const double *c_array, \
        double c
#define CONTINUOUS(name, T)                                                                        \
    KERNEL(RoundKeys, rare_continuous_##name,                                                      \
           ARGUMENTS(T* out, u64 n, u64 stride, int kind, THREE), fill_continuous, out, n, stride, \
           kind, {a_array, a}, {b_array, b}, {c_array, c})

CONTINUOUS(f32, float)
CONTINUOUS(f64, double)
KERNEL(RoundKeys, rare_discrete,
       ARGUMENTS(i64* out, u64 n, u64 stride, int kind, const double* a_array, double a,
                 const i64* good_array, i64 good, const i64* bad_array, i64 bad,
                 const i64* draws_array, i64 draws),
       fill_discrete, out, n, stride, kind, {a_array, a}, {good_array, good}, {bad_array, bad},
       {draws_array, draws})
KERNEL(RoundKeys, multinomial,
       ARGUMENTS(i64* out, u64 n, u64 stride, const i64* trials_array, i64 trials,
                 const double* weights, u64 step, u64 length),
       multinomial, out, n, stride, {trials_array, trials}, weights, step, length)
KERNEL(RoundKeys, multivariate_hypergeometric,
       ARGUMENTS(i64* out, u64 n, u64 stride, double draws, const double* colors, double total,
                 u64 length),
       multivariate_hypergeometric, out, n, stride, draws, colors, total, length)
KERNEL(RoundKeys, dirichlet,
       ARGUMENTS(double* out, u64 n, u64 stride, const double* alpha, u64 length), dirichlet, out,
       n, stride, alpha, length)
