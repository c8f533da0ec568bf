"""Variance, rounding and comparisons of whole arrays, with NumPy as the reference."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reductions import TYPES
from working import refused

import cupola

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NUMBERS = [dtype for dtype in TYPES if dtype.kind != "b"]
# Relative tolerances of sums of squares. Each step of float16 is rounded to float16, as NumPy does.
TOLERANCES = {"e": 4e-3, "f": 1e-5, "F": 1e-5}


def numbers(dtype, shape, seed=0):
    random = np.random.default_rng(seed)
    plain = random.normal(scale=10, size=shape)
    if dtype.kind == "c":
        plain = plain + 1j * random.normal(size=shape)
    return (np.abs(plain) if dtype.kind == "u" else plain).astype(dtype)


@quickly
@given(data=st.data())
def test_variance_and_deviation(driver, data):
    dtype = data.draw(st.sampled_from(TYPES))
    shape = tuple(data.draw(st.lists(st.integers(1, 5), max_size=3)))
    axes = st.sampled_from(range(-len(shape), len(shape))) if shape else st.none()
    options = {
        "axis": data.draw(st.none() | axes),
        "ddof": data.draw(st.sampled_from([0, 1, 0.5])),
        "keepdims": data.draw(st.booleans()),
    }
    here = numbers(dtype, shape, data.draw(st.integers(0, 9)))
    there = cupola.to_device(here)
    for function in (np.var, np.std):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # NumPy's, of a divisor of 0
            expected = function(here, **options)
        name = function.__name__
        calls = (function, getattr(cupola, name), getattr(cupola.Array, name))
        for got in [call(there, **options) for call in calls]:
            assert got.dtype == expected.dtype and got.shape == expected.shape
            tolerance = TOLERANCES.get(here.dtype.char, 1e-12)
            np.testing.assert_allclose(got.get(), expected, rtol=tolerance, atol=1e-9)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 300, 6e4])
@pytest.mark.parametrize("shape", [(5, 3), (40, 40), (3, 3000)])
def test_variance_is_infinite_and_nan_where_numpys_is(driver, dtype, special, shape):
    """In float16 squares of 256 and more, and sums of 65520 and more, are infinite."""
    here = numbers(np.dtype(dtype), shape)
    here[0, 0] = special
    there = cupola.to_device(here)
    for axis in (None, 0, 1):
        for name in ("var", "std", "mean"):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = getattr(np, name)(here, axis=axis)
            got = getattr(np, name)(there, axis=axis).get()
            near = 2e-2 if dtype == "f2" else 1e-4
            np.testing.assert_allclose(got, expected, rtol=near, atol=near)


def test_variance_of_nothing_and_into_an_array(driver):
    empty = cupola.empty((0, 3))
    assert np.isnan(cupola.var(empty).get()) and np.isnan(cupola.std(empty, axis=0).get()).all()
    assert cupola.var(empty, axis=1).shape == (0,)
    here = numbers(np.dtype("f4"), (4, 5))
    out = cupola.empty(5, "f8")
    assert cupola.var(cupola.to_device(here), 0, out=out) is out
    np.testing.assert_allclose(out.get(), here.var(0), rtol=1e-6)
    np.testing.assert_allclose(
        cupola.to_device(here).var(correction=1).get(), here.var(ddof=1), rtol=1e-6
    )


def test_variance_of_wrong_arguments(driver):
    with refused(cupola.ArgumentTypeError, saying="var: argument a: expected a cupola.Array"):
        cupola.var([1, 2])
    with refused(cupola.ArgumentValueError, saying="ddof and correction"):
        cupola.std(cupola.ones(3), ddof=1, correction=1)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("decimals", [0, 1, -1])
def test_round(driver, dtype, decimals):
    if dtype.kind == "u" and decimals < 0:
        here = np.array([0, 4, 5, 14, 15, 25, 100, 126], dtype)
    else:
        here = numbers(dtype, 50)
    there = cupola.to_device(here)
    expected = np.round(here, decimals)
    for got in (np.round(there, decimals), there.round(decimals), cupola.round(there, decimals)):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got.get(), expected)


def test_round_of_bool_and_into_an_array(driver):
    truth = cupola.to_device(np.array([True, False]))
    assert cupola.round(truth).dtype == np.round(np.array([True])).dtype
    with refused(cupola.ArgumentTypeError, saying="bool has no decimals"):
        cupola.round(truth, 1)
    out = cupola.empty(2, np.float64)
    assert cupola.round(cupola.to_device(np.array([0.5, 1.5], np.float32)), out=out) is out
    assert out.get().tolist() == [0, 2]


VALUES = np.array([0, -0.0, 1, 1 + 1e-9, 1.1, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_and_allclose(driver, equal_nan):
    here, other = np.meshgrid(VALUES, VALUES)
    one, two = cupola.to_device(here), cupola.to_device(other)
    expected = np.isclose(here, other, equal_nan=equal_nan)
    np.testing.assert_array_equal(np.isclose(one, two, equal_nan=equal_nan).get(), expected)
    assert np.allclose(one, two) is False
    assert np.allclose(one[:5, :2], two[:5, :2]) is bool(np.allclose(here[:5, :2], other[:5, :2]))
    assert cupola.allclose(one[:, :1], one[:, :1], equal_nan=True)
    whole = cupola.to_device(np.arange(4, dtype=np.uint8))
    assert cupola.isclose(whole, whole + np.uint8(1)).get().tolist() == [False] * 4
    assert cupola.isclose(whole, 1).get().tolist() == [False, True, False, False]


def test_array_equal(driver):
    one = cupola.to_device(VALUES)
    assert np.array_equal(one, one.copy(), equal_nan=True) is True
    assert np.array_equal(one, one.copy()) is False
    assert np.array_equal(one, one[:4]) is False
    assert cupola.array_equal(one[:3], one[:3].astype(np.float32)) is True
    with refused(cupola.ArgumentTypeError, saying="a2: expected a cupola.Array, got list"):
        np.array_equal(one, [1])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(5,), (9000,), (33, 1025), (3, 20000), (300, 70), (2, 300, 40)])
def test_the_spread_of_one_part_and_of_several(driver, dtype, shape):
    host = (np.random.default_rng(0).random(shape) * 3 + 100).astype(dtype)
    there = cupola.to_device(host)
    views = [(host, there), (host.T, there.T), (host[::-2], there[::-2])]
    bound = 3e-5 if dtype == "f4" else 1e-10
    rounded = np.finfo(dtype).eps * 100  # a mean is rounded, so a small spread has that error
    for here, view in views:
        for axis in (None, *range(here.ndim), *([(0, 1)] if here.ndim > 1 else [])):
            expected = here.astype("f8").std(axis=axis, ddof=1.5)
            got = view.std(axis=axis, ddof=1.5)
            assert got.dtype == here.dtype
            np.testing.assert_allclose(got.get(), expected, rtol=bound, atol=rounded)
