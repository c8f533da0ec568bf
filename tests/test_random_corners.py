"""cupola.random at the corners of its parameters, against exact distribution functions.

The counts of samples up to given thresholds are binomial. The thresholds are quantiles, from
one in 10,000 on. A right generator exceeds a bound here once in 10**9 runs of all tests.
"""

import functools
import math

import numpy as np
import pytest
from scipy import special, stats

import cupola

random = cupola.random
N = 40_000
LEVELS = np.array([1e-4, 1e-3, *np.linspace(0.01, 0.99, 15), 0.999, 1 - 1e-4])
# 2 * 19 counts of 150 corners: together below 10**-9.
UNLIKELY = 1e-13
INF, NAN, MOST = math.inf, math.nan, 2.0**63


def ordered(x):
    """Doubles as integers of the same order."""
    bits = np.asarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def doubles(keys):
    return np.where(keys < 0, np.int64(-(2**63)) - keys, keys).view(np.float64)


def thresholds(cumulative, low, high):
    """The least doubles from `low` to `high` whose value is a level or more."""
    below = np.broadcast_to(ordered(np.float64(low)), LEVELS.shape).astype(np.int64)
    above = np.broadcast_to(ordered(np.float64(high)), LEVELS.shape).astype(np.int64)
    for _ in range(64):
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        reached = cumulative(doubles(middle)) >= LEVELS
        above, below = np.where(reached, middle, above), np.where(reached, below, middle)
    return np.unique(doubles(above))


def check(x, cumulative, low, high):
    """The counts of samples up to each threshold, which lie from `low` to `high`."""
    with np.errstate(all="ignore"):
        at = thresholds(cumulative, low, high)
        if x.dtype == np.int64:
            at = np.unique(np.floor(at))
        share = np.clip(cumulative(at), 0, 1)
    counts = np.searchsorted(np.sort(x), at.astype(x.dtype), "right")
    tails = np.minimum(
        stats.binom.cdf(counts, x.size, share), stats.binom.sf(counts - 1, x.size, share)
    )
    worst = tails.argmin()
    assert tails[worst] > UNLIKELY, (at[worst], share[worst], counts[worst] / x.size)


def gamma(shape, scale=1.0):
    def cumulative(x):
        log = np.log(x) - math.log(scale)
        small = np.exp(shape * log - special.gammaln(shape + 1))
        return np.where(log < -30, small, special.gammainc(shape, np.exp(np.minimum(log, 709))))

    return cumulative


def inverse_gaussian(mean, scale):
    """Exponents of the normal distribution's logarithm: the second term has a factor e^(2 s/m)."""

    def cumulative(x):
        root = np.sqrt(scale / x)
        first = special.log_ndtr(root * (x / mean - 1))
        second = 2 * (scale / mean) + special.log_ndtr(-root * (x / mean + 1))
        return np.exp(first) + np.exp(second)

    return cumulative


def f(a, b):
    def cumulative(x):
        odds = x * a / b
        return np.where(
            odds < 1,
            special.betainc(a / 2, b / 2, odds / (1 + odds)),
            special.betaincc(b / 2, a / 2, 1 / (1 + odds)),
        )

    return cumulative


def student(freedom):
    def cumulative(x):
        square = (x / math.sqrt(freedom)) ** 2
        inner = special.betainc(0.5, freedom / 2, square / (1 + square))
        outer = special.betaincc(freedom / 2, 0.5, 1 / (1 + square))
        return 0.5 + np.sign(x) * np.where(square < 1, inner, outer) / 2

    return cumulative


def triangular(left, mode, right):
    def cumulative(x):
        width = right / 2 - left / 2
        rise = (x / 2 - left / 2) / width * ((x / 2 - left / 2) / (mode / 2 - left / 2))
        fall = 1 - (right / 2 - x / 2) / width * ((right / 2 - x / 2) / (right / 2 - mode / 2))
        return np.where(x < mode, rise, fall)

    return cumulative


def normal(mean, variance):
    """Also the limit of those whose skewness is below 10**-4."""
    return lambda x: special.ndtr((x - mean) / math.sqrt(variance))


def log_normal(mean, deviation):
    return lambda x: special.ndtr((np.log(x) - mean) / deviation)


def laplace(location, scale):
    def cumulative(x):
        z = (x - location) / scale
        return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)

    return cumulative


def weibull(a):
    return lambda x: -np.expm1(-np.exp(a * np.log(x)))


def pareto(a):
    return lambda x: -np.expm1(-a * np.log1p(x))


def power(a):
    return lambda x: np.exp(a * np.log(x))


def rayleigh(scale):
    return lambda x: -np.expm1(-0.5 * (x / scale) ** 2)


def logistic(location, scale):
    return lambda x: special.expit((x - location) / scale)


def gumbel(location, scale):
    return lambda x: np.exp(-np.exp((location - x) / scale))


def noncentral(freedom, noncentrality):
    return lambda x: special.chndtr(x, freedom, noncentrality)


# Name, parameters, distribution function, and the range of thresholds: inside of the support, and
# where neither samples nor thresholds round to the same numbers.
SMALL, LARGE = 1e-290, 1e290
CONTINUOUS = [
    *(
        ("wald", (mean, scale), inverse_gaussian(mean, scale), SMALL, LARGE)
        for mean, scale in [
            (1, 1), (1e7, 1), (1e10, 1), (1e300, 1), (1e300, 1e-280), (1, 1e-10), (1, 1e10),
            (1e-200, 1e-200), (1e280, 1e280), (1e-10, 1e3),
        ]
    ),
    *(
        ("gamma", (shape, scale), gamma(shape, scale), SMALL, LARGE)
        for shape, scale in [
            (1e-3, 1), (1e-3, 1e300), (1e-12, 1), (0.1, 1e-200), (0.999, 1), (1, 1e280), (50, 1),
            (1e6, 1), (1e9, 1e-9), (1e10, 1), (1e12, 1),
        ]
    ),
    *(
        ("standard_gamma", (shape,), normal(shape, shape), shape / 2, shape * 2)
        for shape in (1e16, 1e20, 1e24)
    ),
    *(
        ("beta", (a, b), functools.partial(special.betainc, a, b), SMALL, 1 - 1e-12)
        for a, b in [
            (1e-3, 1e-3), (1e-3, 5), (5, 1e-2), (1e-10, 1e-10), (1e-10, 3e-10), (1e-104, 2e-104),
            (1, 1), (0.5, 1e6), (1e6, 0.5), (1e9, 1e9), (1, 1e280),
        ]
    ),
    ("beta", (1e15, 3e15), normal(0.25, 0.1875 / 4e15), 0.2, 0.3),
    ("beta", (1e308, 1e308), normal(0.5, 1e-20), 0.4, 0.499),
    ("beta", (1e-320, 1e-320), lambda x: np.full(np.shape(x), 0.5), 0.1, 0.9),
    *(
        ("chisquare", (df,), gamma(df / 2, 2), SMALL, LARGE)
        for df in (1e-3, 1e-12, 0.5, 1, 2, 1e3, 1e10, 1e13)
    ),
    *(
        ("f", (a, b), f(a, b), SMALL, LARGE)
        for a, b in [
            (1, 1), (1e-2, 1), (1, 1e-2), (1e-3, 1e-3), (1e-12, 1e-12), (3, 1e10), (1e10, 3),
            (1e9, 1e9), (0.5, 1e280),
        ]
    ),
    *(
        ("standard_t", (df,), student(df), -1e140, 1e140)
        for df in (1e-12, 1e-3, 0.1, 1, 5, 1e3, 1e9)
    ),
    ("standard_t", (1e300,), normal(0, 1), -9, 9),
    *(
        ("weibull", (a,), weibull(a), SMALL, LARGE)
        for a in (1e-12, 1e-3, 0.1, 1, 30, 1e6)
    ),
    *(
        ("pareto", (a,), pareto(a), SMALL, LARGE)
        for a in (1e-12, 1e-3, 0.1, 1, 30, 1e12)
    ),
    *(
        ("power", (a,), power(a), SMALL, 1 - 1e-12)
        for a in (1e-12, 1e-3, 0.1, 1, 30, 1e8)
    ),
    *(
        ("lognormal", (mean, deviation), log_normal(mean, deviation), SMALL, LARGE)
        for mean, deviation in [(0, 1e-6), (0, 300), (700, 10), (-700, 10), (0, 1e6)]
    ),
    *(
        ("triangular", (left, mode, right), triangular(left, mode, right), left, right)
        for left, mode, right in [
            (0, 0, 1), (0, 1, 1), (-1, 1e-9, 1), (0, 1e200, 1e201), (-1.5e308, 0, 1.5e308),
            (1, 1 + 1e-9, 1 + 1e-8), (0, 1e-200, 1e-199), (-1e-300, 5e299, 1e300),
        ]
    ),
    *(
        ("laplace", (loc, scale), laplace(loc, scale), -LARGE, LARGE)
        for loc, scale in [(0, 1), (1e10, 1), (0, 1e280), (0, 1e-280)]
    ),
    *(
        ("logistic", (loc, scale), logistic(loc, scale), -LARGE, LARGE)
        for loc, scale in [(0, 1), (1e10, 1), (0, 1e280), (0, 1e-280)]
    ),
    *(
        ("gumbel", (loc, scale), gumbel(loc, scale), -LARGE, LARGE)
        for loc, scale in [(0, 1), (1e10, 1), (0, 1e280), (0, 1e-280)]
    ),
    *(
        ("rayleigh", (scale,), rayleigh(scale), SMALL, LARGE)
        for scale in (1e-280, 1, 1e280)
    ),
    ("standard_cauchy", (), lambda x: 0.5 + np.arctan(x) / np.pi, -1e15, 1e15),
    ("normal", (1e10, 1e-3), normal(1e10, 1e-6), 9e9, 2e10),
    ("normal", (0, 1e150), normal(0, 1e300), -LARGE, LARGE),
    ("exponential", (1e280,), lambda x: -np.expm1(-x / 1e280), SMALL, LARGE),
    *(
        ("noncentral_chisquare", (df, nonc), noncentral(df, nonc), SMALL, LARGE)
        for df, nonc in [(0.01, 0.01), (0.5, 30), (1, 1e3), (1 + 1e-9, 2), (3, 1e-10), (1e3, 10)]
    ),
    *(
        ("noncentral_chisquare", (df, nonc), normal(df + nonc, 2 * (df + 2 * nonc)), SMALL, LARGE)
        for df, nonc in [(0.5, 1e11), (0.5, 1e18), (0.5, 1e20), (0.5, 1e26), (3, 1e12), (3, 1e20),
                         (1e12, 1e3), (1e20, 1e20)]
    ),
    *(
        ("noncentral_f", (a, b, nonc), functools.partial(special.ncfdtr, a, b, nonc), SMALL, LARGE)
        for a, b, nonc in [(1, 1, 1), (0.5, 3, 2), (3, 0.1, 1), (100, 50, 20)]
    ),
    ("noncentral_f", (1e-3, 1e-3, 1e-300), f(1e-3, 1e-3), SMALL, LARGE),
    *(
        ("vonmises", (0, kappa), stats.vonmises(kappa).cdf, -3.1, 3.1)
        for kappa in (2e-8, 1e-5, 1.1e-5, 1e-2, 1, 50, 1e3)
    ),
    *(
        ("vonmises", (0, kappa), normal(0, 1 / kappa), -3.1, 3.1)
        for kappa in (9.9e5, 1.1e6, 1e12, 1e200)
    ),
    ("vonmises", (0, 1e-300), lambda x: (x + np.pi) / (2 * np.pi), -3.1, 3.1),
]  # fmt: skip
NOT_NEGATIVE = {
    "wald", "gamma", "standard_gamma", "beta", "chisquare", "f", "weibull", "pareto", "power",
    "lognormal", "rayleigh", "exponential", "noncentral_chisquare", "noncentral_f",
}  # fmt: skip


def titles(cases):
    return [f"{name}({', '.join(format(one, 'g') for one in given)})" for name, given, *_ in cases]


@pytest.mark.parametrize(
    ("name", "parameters", "cumulative", "low", "high"), CONTINUOUS, ids=titles(CONTINUOUS)
)
def test_continuous_distributions(driver, name, parameters, cumulative, low, high):
    method = getattr(random.default_rng(71), name)
    x = method(*parameters, size=N).get()
    assert not np.isnan(x).any()
    if name in NOT_NEGATIVE:
        assert (x >= 0).all()
    if name == "wald":
        assert (x > 0).all() and (x < INF).all()
    if name == "triangular":
        assert (x >= parameters[0]).all() and (x <= parameters[2]).all()
    check(x, cumulative, low, high)
    if name not in ("normal", "exponential"):
        single = getattr(random.default_rng(71), name)(*parameters, size=N, dtype=np.float32)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(single.get(), x.astype(np.float32))


def test_inverse_gaussian_numbers_of_little_variance_are_the_mean(driver):
    assert (random.default_rng(1).wald(3, 1e300, 100).get() == 3).all()
    assert (random.default_rng(1).wald(1e-300, 1e300, 100).get() == 1e-300).all()


def poisson(mean):
    return lambda k: special.pdtr(k, mean)


def binomial(n, p):
    return lambda k: special.bdtr(np.floor(k), n, p)


def hypergeometric(good, bad, draws):
    return lambda k: stats.hypergeom.cdf(k, good + bad, good, draws)


def large_hypergeometric(good, bad, draws):
    total = good + bad
    mean = draws * (good / total)
    return normal(mean, mean * (bad / total) * (total - draws) / (total - 1))


def geometric(p):
    return lambda k: -np.expm1(k * math.log1p(-p))


def negative_binomial(n, p):
    return lambda k: special.betainc(n, np.floor(k) + 1, p)


def log_series(p):
    """Sums of p^k / k: term by term, or by Euler's and Mascheroni's exponential integral."""
    rate, terms = -math.log(p), np.arange(1, 10_001)
    sums = np.cumsum(np.exp(-rate * terms) / terms)

    def cumulative(k):
        k = np.maximum(np.floor(k), 1)
        x = np.maximum(rate * k, 5e-324)
        series = special.digamma(k + 1) + np.euler_gamma
        series -= np.where(x < 1e-8, x, np.euler_gamma + np.log(x) + special.exp1(x))
        by_terms = (k <= 10_000) | (rate > 1e-3)
        found = np.where(by_terms, sums[np.minimum(k, 10_000).astype(int) - 1], series)
        return found / -math.log1p(-p)

    return cumulative


def zipf(a):
    """Sums of k^-a up to 2^63: term by term, or by Euler's and Maclaurin's formula."""
    first, power = 10_000, a - 1
    terms = np.arange(1.0, first + 1) ** -a
    sums = np.cumsum(terms)

    def total(k):
        ratio = np.log(np.maximum(k, first) / first)
        integral = math.exp(-power * math.log(first)) * -np.expm1(-power * ratio) / power
        return np.where(
            k <= first, sums[np.minimum(k, first).astype(int) - 1],
            sums[-1] + integral + (np.maximum(k, first) ** -a - terms[-1]) / 2,
        )  # fmt: skip

    return lambda k: total(np.maximum(np.floor(k), 1)) / total(np.float64(2**63))


DISCRETE = [
    *(
        ("poisson", (mean,), poisson(mean), 0, MOST)
        for mean in (1e-300, 1e-3, 1, 9.999, 10, 10.001, 17, 1e3, 1e6, 1e9)
    ),
    *(
        ("poisson", (mean,), normal(mean, mean), mean / 2, MOST / 1.0001)
        for mean in (1e12, 3e13, 1e15, 2.0**53 + 2, 1e17, 9.2e18, 2.0**63 - 10 * 2.0**31.5)
    ),
    *(
        ("binomial", (n, p), binomial(n, p), 0, n)
        for n, p in [
            (1, 1e-3), (20, 0.4999), (20, 0.5), (21, 0.5), (21, 0.4999), (25, 0.6), (1000, 0.00999),
            (1000, 0.01001), (10**6, 0.3), (10**6, 0.9), (10**9, 1.2e-8),
        ]
    ),
    *(
        ("binomial", (n, p), poisson(n * p), 0, n)
        for n, p in [(2**63 - 1, 1e-18), (2**63 - 1, 1e-17), (10**15, 1e-10), (2**63 - 1, 1e-300)]
    ),
    *(
        ("binomial", (n, p), normal(n * p, n * p * (1 - p)), n * p / 2, n)
        for n, p in [
            (10**12, 0.5), (10**13, 0.3), (10**15, 0.9), (2**53 + 1, 0.1), (10**17, 0.5),
            (10**18, 1e-6), (2**63 - 1, 0.5), (2**63 - 1, 0.01), (2**63 - 1, 0.99),
            (2**63 - 1, 1e-9),
        ]
    ),
    *(
        ("geometric", (p,), geometric(p), 1, 9.2e18)
        for p in (1e-300, 1e-18, 1e-15, 1e-9, 0.01, 0.5, 0.999, 1 - 1e-10)
    ),
    *(
        ("negative_binomial", (n, p), negative_binomial(n, p), 0, 9.2e18)
        for n, p in [
            (1e-3, 0.5), (1e-3, 1e-10), (0.5, 0.01), (1, 0.999), (1e6, 0.5), (1e9, 1 - 1e-9),
            (100, 1e-3), (1e-300, 0.5),
        ]
    ),
    *(
        ("negative_binomial", (n, p), gamma(n, (1 - p) / p), 1e3, 9.2e18)
        for n, p in [(1e-3, 1e-17), (2.5, 1e-16), (1e3, 1e-14)]
    ),
    *(
        ("negative_binomial", (n, p), normal(n * (1 - p) / p, n * (1 - p) / p**2), 0, 9.2e18)
        for n, p in [(1e12, 0.5), (1e15, 0.5), (9e8, 1e-10), (1e18, 0.2)]
    ),
    *(
        ("hypergeometric", given, hypergeometric(*given), 0, min(given[0], given[2]))
        for given in [
            (1, 1, 1), (1, 10**9 - 1, 10**8), (5, 10**6, 10**5), (20, 20, 19), (20, 20, 21),
            (30, 5, 12), (10**5, 10**5, 10), (10**4, 10**4, 10**4), (50, 10**6, 10**6),
        ]
    ),
    *(
        ("hypergeometric", given, large_hypergeometric(*given), 0, 1e9)
        for given in [
            (10**9 - 1, 10**9 - 1, 10**9 - 1), (10**9 - 1, 10**9 - 1, 10**9 + 10**8),
            (10**9 - 1, 5 * 10**8, 7 * 10**8), (10**8, 10**9 - 1, 10**9),
        ]
    ),
    *(
        ("logseries", (p,), log_series(p), 1, 9.2e18)
        for p in (1e-300, 1e-8, 0.5, 0.99, 1 - 1e-6, 1 - 1e-12, 1 - 2**-53)
    ),
    *(
        ("zipf", (a,), zipf(a), 1, 9.2e18)
        for a in (1 + 2**-52, 1 + 1e-10, 1.0001, 1.02, 1.5, 2, 10, 60, 999, 1024, 1e300)
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameters", "cumulative", "low", "high"), DISCRETE, ids=titles(DISCRETE)
)
def test_distributions_of_integers(driver, name, parameters, cumulative, low, high):
    x = getattr(random.default_rng(72), name)(*parameters, size=N).get()
    assert x.min() >= (1 if name in ("geometric", "zipf", "logseries") else 0)
    if name == "binomial":
        assert x.max() <= parameters[0]
    check(x, cumulative, low, high)


@pytest.mark.parametrize("p", [1 - 1e-14, 1 - 1e-15])
def test_few_failures_of_many_trials(driver, p):
    x = 10**15 - random.default_rng(73).binomial(10**15, p, N).get()
    check(x, poisson(10**15 * (1 - p)), 0, 100)


def test_vectors(driver):
    rng = random.default_rng(74)
    n, p = 2**62 + 1, np.array([0.2, 0.3, 1e-9, 0.5 - 1e-9])
    counts = rng.multinomial(n, p, N).get()
    assert (counts.sum(1) == n).all() and (counts >= 0).all()
    for column, share in zip(counts.T, p, strict=True):
        check(column, normal(n * share, n * share * (1 - share)), 0, MOST / 1.0001)
    for alpha in ([1e-3, 2e-3, 5], [0.1, 1e6, 3e6], [2.0, 1e15, 3e15], [1e-10, 1e-10, 2e-10]):
        shares, total = rng.dirichlet(alpha, N).get(), sum(alpha)
        np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-14)
        for column, one in zip(shares.T, alpha, strict=True):
            check(column, functools.partial(special.betainc, one, total - one), SMALL, 1 - 1e-9)
    for unit in (1e-310, 1e-200):
        shares = rng.dirichlet([unit, 3 * unit], N).get()
        assert (np.sort(shares, 1) == [0, 1]).all()
        check(shares[:, 1], lambda x: np.full(np.shape(x), 0.25), 0.1, 0.9)
