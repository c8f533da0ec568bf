"""Medians, percentiles and quantiles against NumPy."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reductions import TYPES, filled
from working import refused

import cupola
from cupola.arrays.quantile_methods import METHODS

NUMBERS = [dtype for dtype in TYPES if dtype.kind in "iuf"]
# NumPy computes the position in the type of the array before this version.
WEAK = np.lib.NumpyVersion(np.__version__) >= "2.4.0"


def values(dtype, shape, seed=0):
    """Numbers whose differences have the type of the array."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        random = np.random.default_rng(seed)
        return random.integers(info.min // 2, info.max // 2, shape, dtype)
    return filled(dtype, shape, seed)


def check(got, expected):
    assert isinstance(got, cupola.Array)
    got, expected = got.get(), np.asarray(expected)
    assert got.shape == expected.shape
    if WEAK:
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-3)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_type(driver, dtype):
    here = values(dtype, (7, 40))
    there = cupola.to_device(here)
    for axis in (None, 0, 1, -1, (0, 1)):
        check(cupola.median(there, axis), np.median(here, axis))
        for q in (0, 50, 33.3, [0, 10.5, 99, 100]):
            check(cupola.percentile(there, q, axis), np.percentile(here, q, axis))
        got, expected = (
            f.percentile(x, np.float32(30), axis) for f, x in ((cupola, there), (np, here))
        )
        np.testing.assert_allclose(got.get(), expected, rtol=1e-6 if dtype != np.float16 else 1e-3)
        check(cupola.quantile(there, 0.3, axis), np.quantile(here, 0.3, axis))


@pytest.mark.parametrize("method", METHODS)
def test_every_method(driver, method):
    q = [0, 0.1, 0.25, 0.5, 0.7, 0.999, 1]
    for n in (1, 2, 5, 20):
        for dtype in (np.int32, np.float32):
            here = values(np.dtype(dtype), (n, 3), n)
            there = cupola.to_device(here)
            check(
                cupola.quantile(there, q, 0, method=method), np.quantile(here, q, 0, method=method)
            )
            check(cupola.quantile(there, 0.4, method=method), np.quantile(here, 0.4, method=method))
    flags = np.arange(9) % 4 == 0
    if method in ("lower", "nearest", "inverted_cdf"):
        there = cupola.to_device(flags)
        check(cupola.quantile(there, 0.5, method=method), np.quantile(flags, 0.5, method=method))


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.floats(0, 1), max_size=5),
    st.booleans(),
    st.data(),
)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_axes(driver, shape, q, keepdims, data):
    here = filled(np.dtype(np.float64), shape)
    there = cupola.to_device(here)
    axis = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    check(
        cupola.quantile(there, q, axis, keepdims=keepdims),
        np.quantile(here, q, axis, keepdims=keepdims),
    )
    check(cupola.median(there.T, axis[0]), np.median(here.T, axis[0]))
    check(cupola.median(there, axis, keepdims=keepdims), np.median(here, axis, keepdims=keepdims))


def test_nan_gives_nan(driver):
    for dtype in (np.float16, np.float32, np.float64):
        here = filled(np.dtype(dtype), (4, 9))
        here[1, 3], here[2, 0] = np.nan, np.inf
        there = cupola.to_device(here)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            check(cupola.median(there, 1), np.median(here, 1))
            check(cupola.percentile(there, [5, 80], 1), np.percentile(here, [5, 80], 1))
            check(
                cupola.percentile(there, 50, 0, method="lower"),
                np.percentile(here, 50, 0, method="lower"),
            )


def test_many_quantiles_of_a_long_array(driver):
    here = filled(np.dtype(np.float32), 20_001)
    there, q = cupola.to_device(here), np.linspace(0, 100, 71)
    check(np.percentile(there, q), np.percentile(here, q))
    check(np.median(there), np.median(here))


def test_median_of_bool_of_nothing_and_of_great_numbers(driver):
    flags = np.arange(10) % 2 == 0
    check(cupola.median(cupola.to_device(flags)), np.median(flags))
    nothing = cupola.median(cupola.zeros((3, 0), np.float32), 1).get()
    np.testing.assert_array_equal(nothing, np.full(3, np.nan, np.float32))
    assert cupola.median(cupola.zeros((0, 3)), 1).shape == (0,)
    great = np.array([np.finfo(np.float32).max] * 3, np.float32)
    check(cupola.median(cupola.to_device(great)), np.median(great))


def test_out(driver):
    here = values(np.dtype(np.int16), (5, 6))
    there, out = cupola.to_device(here), cupola.zeros((2, 5), np.float32)
    assert np.percentile(there, [20, 60], axis=1, out=out) is out
    np.testing.assert_allclose(out.get(), np.percentile(here, [20, 60], axis=1), rtol=1e-6)
    out = cupola.zeros((1, 6))
    assert np.median(there, 0, out, keepdims=True) is out
    np.testing.assert_array_equal(out.get(), np.median(here, 0, keepdims=True))


def test_errors_name_function_and_argument(driver):
    x = cupola.zeros((2, 3))
    with refused(cupola.ArgumentTypeError, TypeError, saying="median: argument a"):
        cupola.median([1, 2])
    with refused(cupola.ArgumentTypeError, TypeError, saying="quantile: argument a: expected"):
        cupola.quantile(cupola.zeros(3, np.complex64), 0.5)
    with refused(cupola.ArgumentTypeError, TypeError, saying="quantile: argument a: bool"):
        cupola.quantile(cupola.zeros(3, np.bool_), 0.5)
    for q in (-1, 101, [50, np.nan]):
        with refused(cupola.ArgumentValueError, ValueError, saying="percentile: argument q"):
            cupola.percentile(x, q)
    with refused(cupola.ArgumentTypeError, TypeError, saying="percentile: argument q"):
        cupola.percentile(x, cupola.zeros(3))
    with refused(cupola.ArgumentValueError, ValueError, saying="percentile: argument q"):
        cupola.percentile(x, [[1]])
    with refused(cupola.ArgumentValueError, ValueError, saying="quantile: argument method"):
        cupola.quantile(x, 0.5, method="best")
    with refused(cupola.ArgumentTypeError, TypeError, saying="quantile: argument weights"):
        cupola.quantile(x, 0.5, weights=[1, 2, 3])
    with refused(cupola.ArgumentValueError, ValueError, saying="median: argument axis"):
        cupola.median(x, (0, -2))
    with refused(cupola.ArgumentValueError, ValueError, saying="quantile: argument a: there are"):
        cupola.quantile(cupola.zeros((2, 0)), 0.5, 1)
    with refused(cupola.ArgumentValueError, ValueError, saying="median: argument out"):
        cupola.median(x, 0, cupola.zeros(2))
