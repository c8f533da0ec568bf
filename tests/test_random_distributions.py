"""cupola.random's distributions against NumPy's, arguments, and errors."""

import math

import numpy as np
import pytest
from goodness_of_fit import chi_square, kolmogorov_smirnov, two_samples

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

random = cupola.random
N = 20000
BOUND = 2.2  # exceeded once in 8000 samples
ENGINES = [random.Philox, random.XORWOW]
NORMAL = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
EXACT = {
    "random": ((), lambda x: x),
    "uniform": ((-2, 5), lambda x: (x + 2) / 7),
    "standard_normal": ((), NORMAL),
    "normal": ((3, 0.5), lambda x: NORMAL((x - 3) / 0.5)),
    "standard_exponential": ((), lambda x: -np.expm1(-x)),
    "exponential": ((4,), lambda x: -np.expm1(-x / 4)),
    "standard_cauchy": ((), lambda x: 0.5 + np.arctan(x) / np.pi),
    "laplace": (
        (1, 2),
        lambda x: np.where(x < 1, np.exp((x - 1) / 2) / 2, 1 - np.exp(-(x - 1) / 2) / 2),
    ),
    "logistic": ((1, 2), lambda x: 1 / (1 + np.exp(-(x - 1) / 2))),
    "gumbel": ((1, 2), lambda x: np.exp(-np.exp(-(x - 1) / 2))),
    "lognormal": ((1, 2), lambda x: NORMAL((np.log(x) - 1) / 2)),
    "rayleigh": ((3,), lambda x: -np.expm1(-((x / 3) ** 2) / 2)),
    "weibull": ((0.7,), lambda x: -np.expm1(-(x**0.7))),
    "pareto": ((3,), lambda x: 1 - (1 + x) ** -3),
    "power": ((2.5,), lambda x: x**2.5),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EXACT)
def test_distribution_functions(driver, name, dtype):
    parameters, cumulative = EXACT[name]
    x = getattr(random.default_rng(41), name)(*parameters, size=N, dtype=dtype)
    assert x.dtype == dtype and x.shape == (N,)
    assert kolmogorov_smirnov(x.get(), cumulative) < BOUND


CONTINUOUS = [
    ("triangular", (0, 1, 4)),
    ("standard_gamma", (0.3,)),
    ("standard_gamma", (1,)),
    ("gamma", (7.5, 2)),
    ("beta", (0.2, 0.4)),
    ("beta", (2, 0.5)),
    ("beta", (30, 40)),
    ("chisquare", (3,)),
    ("f", (4, 9)),
    ("standard_t", (2.5,)),
    ("wald", (1, 3)),
]


@pytest.mark.parametrize(("name", "parameters"), CONTINUOUS)
def test_continuous_distributions_are_numpys(driver, name, parameters):
    x = getattr(random.default_rng(17), name)(*parameters, size=N).get()
    y = getattr(np.random.default_rng(18), name)(*parameters, size=4 * N)
    assert two_samples(x, y) < BOUND
    single = getattr(random.default_rng(17), name)(*parameters, size=N, dtype=np.float32).get()
    np.testing.assert_array_equal(single, x.astype(np.float32))


DISCRETE = [
    ("poisson", (0.3,)),
    ("poisson", (9.9,)),
    ("poisson", (10,)),
    ("poisson", (1234.5,)),
    ("binomial", (1, 0.3)),
    ("binomial", (20, 0.9)),
    ("binomial", (1000, 0.004)),
    ("binomial", (1000, 0.4)),
    ("binomial", (300, 0.95)),
    ("geometric", (0.02,)),
    ("geometric", (0.9,)),
    ("negative_binomial", (3.5, 0.2)),
]


@pytest.mark.parametrize(("name", "parameters"), DISCRETE)
def test_distributions_of_integers_are_numpys(driver, name, parameters):
    """By the counts of intervals which hold at least a hundredth of NumPy's sample."""
    x = getattr(random.default_rng(27), name)(*parameters, size=N)
    assert x.dtype == np.int64
    y = np.sort(getattr(np.random.default_rng(28), name)(*parameters, size=50 * N))
    edges = np.unique(y[:: y.size // 50])
    observed = np.bincount(np.searchsorted(edges, x.get(), "right"), minlength=edges.size + 1)
    expected = np.bincount(np.searchsorted(edges, y, "right"), minlength=edges.size + 1) / 50
    kept = expected > 20
    assert abs(observed[~kept].sum() - expected[~kept].sum()) < 40
    assert chi_square(observed[kept], expected[kept]) < 4


@pytest.mark.parametrize("make", ENGINES)
def test_both_generators_have_each_distribution(driver, make):
    """Without parameters' branches, which the others test."""
    rng = random.Generator(make(3))
    for name, parameters in [("gamma", (2.5,)), ("poisson", (20,)), ("binomial", (100, 0.3))]:
        x = getattr(rng, name)(*parameters, size=N).get()
        y = getattr(np.random.default_rng(4), name)(*parameters, size=4 * N)
        assert two_samples(x, y) < BOUND
    for dtype in (np.float32, np.float64):
        for name in ("uniform", "normal", "exponential", "laplace"):
            x = getattr(rng, name)(size=N, dtype=dtype).get()
            assert two_samples(x, getattr(np.random.default_rng(4), name)(size=4 * N)) < BOUND
    counts = np.bincount(rng.integers(6, size=N).get(), minlength=6)
    assert chi_square(counts, np.full(6, N / 6)) < 4
    x = rng.integers(2**40, size=N).get()
    assert kolmogorov_smirnov(x / 2**40, lambda v: v) < BOUND


def test_limits(driver):
    rng = random.default_rng(1)
    assert (rng.poisson(0, 10).get() == 0).all() and (rng.binomial(5, 0, 10).get() == 0).all()
    assert (rng.binomial(5, 1, 10).get() == 5).all() and (rng.geometric(1, 10).get() == 1).all()
    assert (rng.normal(2, 0, 10).get() == 2).all() and (rng.exponential(0, 10).get() == 0).all()
    assert (rng.gamma(0, 1, 10).get() == 0).all()
    assert abs(rng.binomial(10**12, 0.25, 100).get() / 10**12 - 0.25).max() < 5e-6
    assert rng.geometric(1e-300, 10).get().min() == 2**63 - 1
    x = rng.standard_gamma(1e-3, 1000).get()
    assert (x >= 0).all() and (x == 0).mean() > 0.4  # most are below the least double


def test_shapes_and_outputs(driver):
    rng = random.default_rng(2)
    assert rng.random().shape == () and rng.random((2, 0, 3)).shape == (2, 0, 3)
    assert rng.integers(5, size=(3, 4), dtype=np.uint8).get().shape == (3, 4)
    for name in ("random", "standard_normal", "standard_exponential"):
        out = cupola.zeros((5, 7), np.float32)
        assert getattr(rng, name)(out=out, dtype=np.float32) is out
        assert len(np.unique(out.get())) > 30
        strided = cupola.zeros((5, 14), np.float64)
        assert getattr(rng, name)((5, 7), out=strided[:, ::2]) is not None
        assert (strided.get()[:, 1::2] == 0).all() and (strided.get()[:, ::2] != 0).all()
    same = [random.default_rng(3).standard_normal(999, np.float32).get() for _ in range(2)]
    offset = cupola.zeros(1003, np.float32)
    random.default_rng(3).standard_normal(out=offset[3:-1], dtype=np.float32)  # unaligned
    np.testing.assert_array_equal(offset.get()[3:-1], same[0])
    assert (offset.get()[[0, 1, 2, -1]] == 0).all()
    counts = cupola.zeros(100, np.int64)
    assert rng.poisson(30, out=counts) is counts and counts.get().min() > 5


def test_parameters_may_be_arrays(driver):
    rng = random.default_rng(4)
    loc = cupola.to_device(np.array([[0.0], [1000.0]]))
    scale = cupola.to_device(np.array([1.0, 2, 3], np.float32))
    for name in ("normal", "laplace", "logistic"):
        x = getattr(rng, name)(loc, scale).get()
        assert x.shape == (2, 3) and (abs(x[0]) < 60).all() and (abs(x[1] - 1000) < 60).all()
        assert getattr(rng, name)(loc, 1, (4, 2, 3), dtype=np.float32).get().shape == (4, 2, 3)
    low = cupola.to_device(np.arange(50.0))
    x = rng.uniform(low, low + 0.5).get()
    assert ((x >= np.arange(50)) & (x < np.arange(50) + 0.5)).all()
    mean = cupola.to_device(np.array([1, 1000000]))
    counts = rng.poisson(mean, (1000, 2)).get().mean(0)
    assert abs(counts[0] - 1) < 0.2 and abs(counts[1] - 1e6) < 200
    assert (rng.exponential(cupola.to_device(np.array([0.0, 5])), (9, 2)).get()[:, 0] == 0).all()
    # Arrays as parameters give the same numbers as scalars, for methods that make one at a time.
    a, b = random.default_rng(5), random.default_rng(5)
    x = a.gamma(cupola.to_device(np.full(10, 2.0)), 3.0).get()
    np.testing.assert_array_equal(x, b.gamma(2.0, 3.0, 10).get())


def test_elements_out_of_range_give_nan(driver):
    rng = random.default_rng(6)
    bad = cupola.to_device(np.array([-1.0, math.nan]))
    for name in ("gamma", "chisquare", "standard_t"):
        assert np.isnan(getattr(rng, name)(bad).get()).all()
    assert np.isnan(rng.beta(bad, bad).get()).all()
    assert rng.gamma(cupola.to_device(np.array([math.inf]))).get()[0] == math.inf
    for made in (
        rng.poisson(bad), rng.binomial(10, bad), rng.binomial(bad, 0.5), rng.geometric(bad),
        rng.negative_binomial(bad, 0.5), rng.negative_binomial(3, bad),
    ):  # fmt: skip
        assert (made.get() == -1).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda r: r.normal(0, -1),
            ArgumentValueError,
            "normal: scale: expected at least 0, got -1",
        ),
        (lambda r: r.beta(0, 1), ArgumentValueError, "beta: a: expected above 0, got 0"),
        (lambda r: r.binomial(5, 1.5), ArgumentValueError, "binomial: p: expected from 0 to 1"),
        (lambda r: r.binomial(-1, 0.5), ArgumentValueError, "binomial: n: expected from 0"),
        (lambda r: r.geometric(0), ArgumentValueError, "geometric: p: expected above 0"),
        (lambda r: r.poisson(math.nan), ArgumentValueError, "poisson: lam"),
        (lambda r: r.uniform(0, math.inf), ArgumentValueError, "uniform: high: expected a finite"),
        (lambda r: r.uniform(-1e308, 1e308), ArgumentValueError, "finite high - low"),
        (lambda r: r.triangular(1, 0, 2), ArgumentValueError, "left <= mode <= right"),
        (lambda r: r.normal([0, 1]), ArgumentTypeError, r"loc is in host memory.*to_device\(loc\)"),
        (lambda r: r.normal("x"), ArgumentTypeError, "loc: expected a number or a cupola.Array"),
        (lambda r: r.normal(cupola.zeros(2, complex)), ArgumentTypeError, "expected real numbers"),
        (lambda r: r.normal(cupola.zeros(2), size=3), ArgumentValueError, "does not broadcast"),
        (
            lambda r: r.gamma(cupola.zeros(2), cupola.zeros(3)),
            ArgumentValueError,
            "shapes don't broadcast",
        ),
        (lambda r: r.random(3, int), ArgumentTypeError, "random: dtype: expected float32"),
        (lambda r: r.random(out=np.zeros(3)), ArgumentTypeError, "out: expected a cupola.Array"),
        (lambda r: r.random(out=cupola.zeros(3, "f4")), ArgumentTypeError, "expected the dtype"),
        (lambda r: r.random(2, out=cupola.zeros(3)), ArgumentValueError, "out: expected the shape"),
        (lambda r: r.standard_exponential(2, method="log"), ArgumentValueError, "'zig' or 'inv'"),
        (lambda r: r.random(-1), ArgumentValueError, "negative sizes"),
        (lambda r: r.integers(5, 5), ArgumentValueError, "low < high, got 5 and 5"),
        (lambda r: r.integers(6, 5, endpoint=True), ArgumentValueError, "low <= high"),
        (lambda r: r.integers(300, dtype=np.uint8), ArgumentValueError, "from 0 to 255.*to 299"),
        (lambda r: r.integers(-1, 5, dtype=np.uint64), ArgumentValueError, "uint64 holds"),
        (lambda r: r.integers(5, dtype=float), ArgumentTypeError, "bool or an integer type"),
        (lambda r: r.integers(1.5), ArgumentTypeError, "expected an int, got 1.5"),
        (lambda r: r.integers([1, 2]), ArgumentTypeError, "arrays of bounds are not supported"),
        (lambda r: r.bytes(-1), ArgumentValueError, "length: expected at least 0"),
    ],
)
def test_errors(driver, call, error, text):
    rng = random.default_rng(7)
    before = rng.bit_generator.state["state"]["counter"].tolist()
    with pytest.raises(error, match=text):
        call(rng)
    assert rng.bit_generator.state["state"]["counter"].tolist() == before


def test_numbers_in_a_graph_repeat(driver):
    """Philox's counter is an argument of the launch."""
    rng = random.default_rng(8)
    x = cupola.empty(100)
    stream = cupola.Stream(non_blocking=True)
    with stream, stream.capture() as graph:
        rng.random(out=x)
    launched = graph.instantiate()
    expected = random.default_rng(8).random(100).get()
    for _ in range(2):
        x.fill(0, stream)
        launched.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(x.get(), expected)
