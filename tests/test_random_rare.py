"""cupola.random's rare distributions and those of vectors, against NumPy's and exact moments."""

import math
from itertools import product

import numpy as np
import pytest
from goodness_of_fit import chi_square, two_samples
from test_random_distributions import BOUND, ENGINES, N

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

random = cupola.random
CONTINUOUS = [
    ("noncentral_chisquare", (3, 20)),
    ("noncentral_chisquare", (0.7, 5)),
    ("noncentral_chisquare", (2, 0)),
    ("noncentral_f", (3, 20, 4)),
    ("noncentral_f", (0.9, 7, 3)),
    ("vonmises", (0.5, 1.2)),
    ("vonmises", (-3, 4)),
    ("vonmises", (0, 0)),
    ("vonmises", (1, 1e-6)),
    ("vonmises", (2, 1e7)),
]


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS)
def test_continuous_distributions_are_numpys(driver, name, parameters):
    x = getattr(random.default_rng(17), name)(*parameters, size=N)
    y = getattr(np.random.default_rng(18), name)(*parameters, size=4 * N)
    assert x.dtype == np.float64 and two_samples(x.get(), y) < BOUND
    single = getattr(random.default_rng(17), name)(*parameters, size=N, dtype=np.float32).get()
    np.testing.assert_array_equal(single, x.get().astype(np.float32))


def log_binomial(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def hypergeometric(good, bad, draws):
    def probability(k):
        if not max(0, draws - bad) <= k <= min(good, draws):
            return 0
        log = log_binomial(good, k) + log_binomial(bad, draws - k) - log_binomial(good + bad, draws)
        return math.exp(log)

    return probability


def zipf(a):
    ranks = np.arange(1, 200_000)
    total = (ranks**-a).sum() + 200_000 ** (1 - a) / (a - 1)
    return lambda k: k**-a / total if k else 0


EXACT = [
    ("hypergeometric", (7, 5, 6), hypergeometric(7, 5, 6)),
    ("hypergeometric", (40, 60, 3), hypergeometric(40, 60, 3)),
    ("hypergeometric", (40, 60, 97), hypergeometric(40, 60, 97)),
    ("hypergeometric", (60, 40, 30), hypergeometric(60, 40, 30)),
    ("hypergeometric", (40, 60, 70), hypergeometric(40, 60, 70)),
    ("hypergeometric", (60, 40, 70), hypergeometric(60, 40, 70)),
    ("hypergeometric", (15, 10**6, 50_000), hypergeometric(15, 10**6, 50_000)),
    ("hypergeometric", (900, 1100, 700), hypergeometric(900, 1100, 700)),
    ("logseries", (0.6,), lambda k: -(0.6**k) / k / math.log(0.4) if k else 0),
    ("logseries", (0.98,), lambda k: -(0.98**k) / k / math.log(0.02) if k else 0),
    ("zipf", (2.2,), zipf(2.2)),
    ("zipf", (4.5,), zipf(4.5)),
]


@pytest.mark.parametrize(("name", "parameters", "probability"), EXACT)
def test_distributions_of_integers(driver, name, parameters, probability):
    """The counts of each number that is expected 20 times or more, and of all others."""
    x = getattr(random.default_rng(27), name)(*parameters, size=N)
    assert x.dtype == np.int64
    found = x.get()
    expected = N * np.array([probability(k) for k in range(2100)])
    kept = np.flatnonzero(expected > 20)
    observed = np.bincount(np.minimum(found, 2100), minlength=2101)[kept]
    rest = N - expected[kept].sum()
    if rest > 20:
        observed = np.append(observed, N - observed.sum())
        expected, kept = np.append(expected[kept], rest), slice(None)
    else:
        assert N - observed.sum() < 60
    assert chi_square(observed, expected[kept]) < 4


def test_large_hypergeometric_numbers(driver):
    good, bad, draws = 4 * 10**8, 6 * 10**8, 10**7
    x = random.default_rng(3).hypergeometric(good, bad, draws, N).get()
    share = good / (good + bad)
    deviation = math.sqrt(draws * share * (1 - share) * (1 - draws / (good + bad)))
    assert abs(x.mean() - draws * share) < 4 * deviation / math.sqrt(N)
    assert abs(x.std() / deviation - 1) < 4 / math.sqrt(2 * N)


@pytest.mark.parametrize("make", ENGINES)
def test_multinomial(driver, make):
    """The counts of all vectors of three numbers with the sum 4."""
    p = [0.2, 0.5, 0.3]
    x = random.Generator(make(5)).multinomial(4, p, N)
    assert x.dtype == np.int64 and x.shape == (N, 3)
    check_vectors(
        x.get(), 4,
        lambda v: math.factorial(4) * math.prod(q**k / math.factorial(k)
                                                for q, k in zip(p, v, strict=True)),
    )  # fmt: skip


@pytest.mark.parametrize("make", ENGINES)
def test_multivariate_hypergeometric(driver, make):
    colors = [3, 6, 4]
    x = random.Generator(make(6)).multivariate_hypergeometric(colors, 5, N)
    assert x.dtype == np.int64 and x.shape == (N, 3)
    check_vectors(
        x.get(), 5,
        lambda v: math.prod(math.comb(n, k) for n, k in zip(colors, v, strict=True))
        / math.comb(13, 5),
    )  # fmt: skip


def check_vectors(found, total, probability):
    assert (found.sum(1) == total).all() and (found >= 0).all()
    vectors = [v for v in product(range(total + 1), repeat=3) if sum(v) == total]
    expected = np.array([N * probability(v) for v in vectors])
    observed = np.array([(found == v).all(1).sum() for v in vectors])
    assert (observed[expected == 0] == 0).all()
    kept = expected > 15
    assert chi_square(observed[kept], expected[kept]) < 4


def test_multinomial_parameters(driver):
    rng = random.default_rng(7)
    n = cupola.to_device(np.array([[10], [10_000]]))
    x = rng.multinomial(n, [[0.1, 0.9], [0.5, 0.5], [1, 0]]).get()
    assert x.shape == (2, 3, 2) and (x.sum(2) == [[10] * 3, [10_000] * 3]).all()
    assert (x[:, 2] == [[10, 0], [10_000, 0]]).all()
    assert abs(x[1, 0, 0] - 1000) < 200 and abs(x[1, 1, 0] - 5000) < 400
    assert rng.multinomial(3, cupola.to_device(np.array([0.5, 0.5]))).shape == (2,)
    assert rng.multinomial(3, [0.5, 0.5], (4, 0)).shape == (4, 0, 2)
    assert (rng.multinomial(7, [1.0], 5).get() == 7).all()
    assert (rng.multinomial(cupola.to_device(np.array([-1.0])), [0.5, 0.5]).get() == -1).all()


@pytest.mark.parametrize("alpha", [(2.0, 3.5, 0.8), (0.02, 0.05, 0.01), (1.0, 0.0, 4.0), (5.0,)])
def test_dirichlet(driver, alpha):
    """A share is a beta number; the sum is 1."""
    x = random.default_rng(8).dirichlet(alpha, N).get()
    assert x.shape == (N, len(alpha)) and abs(x.sum(1) - 1).max() < 1e-14
    for k, a in enumerate(alpha):
        rest = sum(alpha) - a
        if a and rest:
            assert two_samples(x[:, k], np.random.default_rng(9).beta(a, rest, 4 * N)) < BOUND
        else:
            assert (x[:, k] == (0 if rest else 1)).all()
    a, b = alpha[0], alpha[-1]
    total = sum(alpha)
    if len(alpha) == 3:
        covariance = -a * b / (total**2 * (total + 1))
        assert abs(np.cov(x[:, 0], x[:, 2])[0, 1] - covariance) < 0.01


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(driver, method):
    mean, cov = np.array([1.0, -2, 3]), np.array([[2.0, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 0.5]])
    x = random.default_rng(10).multivariate_normal(mean, cov, (N, 1), method=method).get()[:, 0]
    assert x.shape == (N, 3)
    assert abs(x.mean(0) - mean).max() < 0.05 and abs(np.cov(x.T) - cov).max() < 0.08
    y = x @ [1.0, 2, -1]
    deviation = math.sqrt(np.array([1.0, 2, -1]) @ cov @ [1.0, 2, -1])
    assert two_samples(y, np.random.default_rng(11).normal(-6, deviation, 4 * N)) < BOUND
    assert random.default_rng(1).multivariate_normal([0.0], [[0.0]]).get().tolist() == [0]


def test_covariances_that_are_none(driver):
    rng, wrong = random.default_rng(1), [[1, 2], [2, 1]]
    with pytest.warns(RuntimeWarning, match="positive semidefinite"):
        rng.multivariate_normal([0, 0], wrong)
    with pytest.raises(ArgumentValueError, match="symmetric and positive semidefinite"):
        rng.multivariate_normal([0, 0], [[1, 2], [0, 1]], check_valid="raise")
    rng.multivariate_normal([0, 0], wrong, check_valid="ignore")
    with pytest.raises(ArgumentValueError, match="cov: "):
        rng.multivariate_normal([0, 0], wrong, method="cholesky")


def test_all_methods_of_numpys_generator(driver):
    public = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    assert public <= set(dir(random.Generator))


def test_arrays_and_limits(driver):
    rng = random.default_rng(2)
    good = cupola.to_device(np.array([5, 50, -1]))
    x = rng.hypergeometric(good, 10, 5, (1000, 3)).get()
    assert (x[:, 2] == -1).all() and abs(x[:, 0].mean() - 5 / 3) < 0.2 and x[:, 1].max() <= 5
    bad = cupola.to_device(np.array([-1.0, math.nan]))
    assert np.isnan(rng.vonmises(0, bad).get()).all() and np.isnan(rng.vonmises(bad, bad).get()[1])
    assert np.isnan(rng.noncentral_chisquare(bad, 1).get()).all()
    assert np.isnan(rng.noncentral_f(1, 2, bad).get()).all()
    for made in (rng.zipf(bad), rng.logseries(bad), rng.hypergeometric(3, bad, 1)):
        assert (made.get() == -1).all()
    assert (rng.logseries(0, 9).get() == 1).all() and (rng.zipf(2000, 9).get() == 1).all()
    assert (rng.hypergeometric(4, 0, 3, 9).get() == 3).all()
    assert (rng.hypergeometric(4, 6, 10, 9).get() == 4).all()
    angles = rng.vonmises(3, 2, N).get()
    assert abs(angles).max() <= math.pi
    out = cupola.zeros(5, np.int64)
    assert rng.zipf(2, out=out) is out and out.get().min() >= 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: r.hypergeometric(3, 4, 8), ArgumentValueError, "nsample: expected at most"),
        (lambda r: r.hypergeometric(10**9, 4, 8), ArgumentValueError, "ngood: expected from 0"),
        (lambda r: r.logseries(1), ArgumentValueError, "logseries: p: expected at least 0"),
        (lambda r: r.zipf(1), ArgumentValueError, "zipf: a: expected above 1"),
        (lambda r: r.vonmises(0, -1), ArgumentValueError, "kappa: expected at least 0"),
        (lambda r: r.noncentral_f(1, 0, 1), ArgumentValueError, "dfden: expected above 0"),
        (lambda r: r.multinomial(3, [0.9, 0.9, 0]), ArgumentValueError, "sum of at most 1"),
        (lambda r: r.multinomial(3, [-0.1, 0.9]), ArgumentValueError, "from 0 to 1"),
        (lambda r: r.multinomial(3, 0.5), ArgumentValueError, "at least one number"),
        (lambda r: r.multinomial(-3, [1]), ArgumentValueError, "n: expected from 0"),
        (lambda r: r.multinomial(3, [[0.5, 0.5]] * 2, 3), ArgumentValueError, "not broadcast"),
        (lambda r: r.multivariate_hypergeometric([1, 2], 4), ArgumentValueError, "at most 3"),
        (lambda r: r.multivariate_hypergeometric([0.5], 0), ArgumentTypeError, "integers along"),
        (lambda r: r.multivariate_hypergeometric([-1], 0), ArgumentValueError, "at least 0"),
        (lambda r: r.multivariate_hypergeometric([1], 0, method="x"), ArgumentValueError, "'x'"),
        (lambda r: r.dirichlet([1, -1]), ArgumentValueError, "dirichlet: alpha: expected finite"),
        (lambda r: r.dirichlet("x"), ArgumentTypeError, "alpha: expected real numbers"),
        (lambda r: r.multivariate_normal([1, 2], [[1]]), ArgumentValueError, r"\(2,\) and \(1, 1"),
        (lambda r: r.multivariate_normal([1], [[1]], method="lu"), ArgumentValueError, "'lu'"),
    ],
)
def test_errors(driver, call, error, text):
    rng = random.default_rng(7)
    before = rng.bit_generator.state["state"]["counter"].tolist()
    with pytest.raises(error, match=text):
        call(rng)
    assert rng.bit_generator.state["state"]["counter"].tolist() == before
