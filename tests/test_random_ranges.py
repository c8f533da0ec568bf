"""The parameters that cupola.random takes and refuses are those that NumPy takes and refuses."""

import itertools
import math

import numpy as np
import pytest

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

random = cupola.random
INF, NAN, TINY = math.inf, math.nan, 5e-324
MOST = 2.0**63 - 10 * 2.0**31.5  # NumPy's largest mean
REALS = (-INF, -1.0, -TINY, 0.0, TINY, 1e-300, 0.5, 1.0, 2.0, 1e300, INF, NAN)
# With less than one degree of freedom, NumPy's Poisson numbers overflow above 2**63.
NONCENTRALITIES = (*(one for one in REALS if one != 1e300), 1e10)
SHARES = (-0.1, 0.0, TINY, 1e-300, 0.5, np.nextafter(1, 0), 1.0, np.nextafter(1, 2), NAN)
COUNTS = (-1, -0.5, 0, 1, 2.5, 10**9 - 1, 10**9, 2**31, 2**53 + 1, 2**63 - 1, NAN, INF)
TABLE = {
    "uniform": (REALS, REALS),
    "normal": (REALS, REALS),
    "exponential": (REALS,),
    "lognormal": (REALS, REALS),
    "laplace": (REALS, REALS),
    "logistic": (REALS, REALS),
    "gumbel": (REALS, REALS),
    "rayleigh": (REALS,),
    "weibull": (REALS,),
    "pareto": (REALS,),
    "power": (REALS,),
    "triangular": (REALS, REALS, REALS),
    "standard_gamma": (REALS,),
    "gamma": (REALS, REALS),
    "beta": (REALS, REALS),
    "chisquare": (REALS,),
    "f": (REALS, REALS),
    "standard_t": (REALS,),
    "wald": (REALS, REALS),
    "noncentral_chisquare": (REALS, NONCENTRALITIES),
    "noncentral_f": (REALS, REALS, NONCENTRALITIES),
    "vonmises": (REALS, REALS),
    "poisson": ((*REALS, MOST, np.nextafter(MOST, INF), 2.0**63),),
    "binomial": (COUNTS, SHARES),
    "geometric": (SHARES,),
    "negative_binomial": ((*REALS, 1e10), (*SHARES, 1e-19, 1e-17, 1e-10)),
    "hypergeometric": (COUNTS, COUNTS, COUNTS),
    "logseries": (SHARES,),
    "zipf": ((*REALS, 1 + 2**-52, 1000.0, 1025.0),),
}


def corners(name):
    return list(itertools.product(*TABLE[name]))


def taken(name, parameters):
    try:
        with np.errstate(all="ignore"):
            getattr(np.random.default_rng(1), name)(*parameters)
    except (ValueError, OverflowError):
        return False
    return True


@pytest.mark.parametrize("name", TABLE)
def test_numbers_are_refused_where_numpy_refuses_them(driver, name):
    rng = random.default_rng(1)
    for parameters in corners(name):
        try:
            getattr(rng, name)(*parameters, size=0)
            found = True
        except ArgumentValueError as error:
            assert str(error).startswith(f"{name}: ")
            found = False
        assert found == taken(name, parameters), (name, parameters)


@pytest.mark.parametrize("name", TABLE)
def test_elements_that_numpy_refuses_give_nan_or_minus_one(driver, name):
    """Finite parameters that NumPy takes give NaN only where NumPy's do, infinities likewise, or
    where NumPy gives NaN for a number beyond the largest double.
    """
    chosen = [
        one for one in corners(name)
        if name not in ("binomial", "hypergeometric") or not {NAN, INF} & set(one)
    ]  # fmt: skip
    columns = [
        cupola.to_device(np.array(column, np.int64 if kind is COUNTS else np.float64))
        for column, kind in zip(zip(*chosen, strict=True), TABLE[name], strict=True)
    ]
    made = getattr(random.default_rng(1), name)(*columns, size=(50, len(chosen))).get()
    reference = np.random.default_rng(2)
    for parameters, found in zip(chosen, made.T, strict=True):
        where = name, parameters, found[:5]
        if not taken(name, parameters):
            assert (found == -1).all() if made.dtype == np.int64 else np.isnan(found).all(), where
        elif made.dtype == np.int64:
            assert (found >= 0).all(), where
        elif np.isfinite(parameters).all() and not np.isfinite(found).all():
            with np.errstate(all="ignore"):
                numpys = getattr(reference, name)(*parameters, size=1000)
            assert not np.isfinite(numpys).all(), where
            assert not np.isnan(found).any() or np.isnan(numpys).any(), where


def test_negative_zero_is_zero(driver):
    """NumPy refuses it for parameters that may be 0."""
    rng = random.default_rng(1)
    assert rng.normal(2, -0.0).tolist() == 2 and rng.weibull(-0.0).tolist() == 0
    there = cupola.to_device(np.array([-0.0]))
    assert rng.normal(2, there).tolist() == [2] and rng.weibull(there).tolist() == [0]


COUNTS_OF_FLOATS = [-1.0, -0.5, NAN, INF, 2.0**63, 2.5]


def test_counts_may_be_floats(driver):
    """The fraction is dropped, as NumPy drops it."""
    n = cupola.to_device(np.array(COUNTS_OF_FLOATS))
    rng = random.default_rng(1)
    assert rng.binomial(n, 1.0).tolist() == [-1, 0, -1, -1, -1, 2]
    assert rng.binomial(n.astype(np.float32), 1.0).tolist() == [-1, 0, -1, -1, -1, 2]
    assert rng.multinomial(n, [1.0]).get().ravel().tolist() == [-1, 0, -1, -1, -1, 2]
    assert rng.hypergeometric(n, 0, 0).tolist() == [-1, 0, -1, -1, -1, 0]
    assert rng.binomial(2.5, 1.0).tolist() == 2 and rng.binomial(-0.5, 1.0).tolist() == 0
    assert rng.hypergeometric(2.5, 0.5, 2).tolist() == 2


@pytest.mark.parametrize("n", [2**53 + 1, 2**53 + 3, 2**60 - 1, 2**62 + 1, 2**63 - 1])
def test_counts_are_exact_beyond_doubles(driver, n):
    rng = random.default_rng(1)
    there = cupola.to_device(np.array([n, n]))
    assert rng.binomial(n, 1.0).tolist() == n and rng.binomial(there, 1.0).tolist() == [n, n]
    assert rng.binomial(n, 1 - 1e-25).tolist() == n and rng.binomial(n, 0.0).tolist() == 0
    for given in (n, there):
        counts = rng.multinomial(given, [0.2, 0.3, 0.1, 0.4], size=2).get()
        assert (counts > 0).all() and [sum(row) for row in counts.tolist()] == [n, n]


VECTORS = {
    "multinomial": [
        (n, p)
        for n in (-1, -0.5, 0, 2.5, 2**63 - 1, NAN)
        for p in (
            [1], [0.5, 0.5], [0.5, 0.2], [0.9, 0.9], [0.6, 0.6, 0], [-0.1, 1], [0.1, 1.5],
            [NAN, 1], [0.5, NAN], [], [[0.5, 0.5], [0.9, 0.9]], [[0.5, 0.5, 0], [0.9, 0.9, 0]],
            [0.1] * 10, [1 + 1e-13, 0], [0.5, 0.5 + 1e-13, 0], [0.5, 0.5 + 1e-11, 0],
        )
    ],
    "multivariate_hypergeometric": [
        (colors, draws)
        for colors in ([1, 2], [0, 0], [5], [-1, 3], [1.0, 2], [10**9], [10**9 - 1], [10**9 - 1, 1])
        for draws in (-1, 0, 1, 2.0, 3, 4, 6)
    ],
    "dirichlet": [
        (alpha,)
        for alpha in ([1], [0, 1], [-1, 1], [-TINY, 1], [TINY, TINY], [1e300, 1e300], [[1]])
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_refused_where_numpy_refuses_them(driver, name):
    rng = random.default_rng(1)
    for parameters in VECTORS[name]:
        try:
            getattr(rng, name)(*parameters)
            found = True
        except (ArgumentValueError, ArgumentTypeError) as error:
            assert str(error).startswith(f"{name}: ")
            found = False
        assert found == taken(name, parameters), (name, parameters)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r: r.negative_binomial(1e10, 1e-10), r"n, p: .*at most 9.223372006\d*e\+18.*1e-10"),
        (lambda r: r.binomial(2**63, 0.5), r"0 to 2\*\*63 - 1, got 9223372036854775808"),
        (lambda r: r.poisson(9.3e18), r"lam: expected from 0 to 9.223372006\d*e\+18, got 9.3e\+18"),
        (lambda r: r.uniform(1, 0), "uniform: expected low <= high, got 1.0 and 0.0"),
        (lambda r: r.binomial(NAN, 0.5), "n: expected from 0 .*, got nan"),
    ],
)  # fmt: skip
def test_messages_name_limit_and_value(driver, call, text):
    with pytest.raises(ArgumentValueError, match=text):
        call(random.default_rng(1))
