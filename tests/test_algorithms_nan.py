"""Reductions without NaN, indices of flattened arrays, interpolation, and NumPy's like=."""

import numpy as np
import pytest

import cupola
from cupola.exceptions import ArgumentError

HOLES = np.random.default_rng(2).normal(size=(5, 6, 7))
HOLES[HOLES > 0.8] = np.nan
HOLES[2] = np.nan
REDUCTIONS = ["nansum", "nanprod", "nanmin", "nanmax", "nanmean"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty")
def test_without_nan(driver, name, axis):
    x = cupola.to_device(HOLES)
    for keepdims in (False, True):
        expected = getattr(np, name)(HOLES, axis=axis, keepdims=keepdims)
        for module in (np, cupola):
            found = getattr(module, name)(x, axis=axis, keepdims=keepdims)
            assert isinstance(found, cupola.Array) and found.dtype == expected.dtype
            np.testing.assert_allclose(found.get(), expected, rtol=1e-13)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
def test_types(driver, name, dtype):
    host = np.arange(1, 7).astype(dtype)
    found, expected = getattr(np, name)(cupola.to_device(host)), getattr(np, name)(host)
    assert (found.dtype, found.item()) == (expected.dtype, expected.item())


def test_outputs(driver):
    x = cupola.to_device(HOLES)
    for name in REDUCTIONS:
        out = cupola.empty((6, 7))
        assert getattr(cupola, name)(x, 0, out=out) is out
        np.testing.assert_allclose(out.get(), getattr(np, name)(HOLES, 0), rtol=1e-13)


def test_complex_means(driver):
    host = np.array([1 + 2j, np.nan, 3 - 1j], "c8")
    assert np.nanmean(cupola.to_device(host)).item() == np.nanmean(host)


@pytest.mark.parametrize("name", ["nanargmin", "nanargmax"])
def test_indices_without_nan(driver, name):
    host = HOLES[[0, 1, 3, 4]]
    x = cupola.to_device(host)
    for axis in (None, 0):
        assert np.array_equal(getattr(np, name)(x, axis=axis).get(), getattr(np, name)(host, axis))
    assert getattr(cupola, name)(cupola.to_device(np.array([3, 1, 2]))).item() in (0, 1)
    with pytest.raises(ValueError, match=f"{name}: all elements along the axis are NaN"):
        getattr(np, name)(cupola.to_device(HOLES), axis=1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(60,), (3, 4, 5), 60])
def test_flat_indices_and_back(driver, shape, order):
    host = np.array([[0, 7, 59], [31, 12, 30]])
    there = np.unravel_index(cupola.to_device(host), shape, order)
    for found, expected in zip(there, np.unravel_index(host, shape, order), strict=True):
        assert np.array_equal(found.get(), expected)
    back = np.ravel_multi_index(there, shape, order=order)
    assert np.array_equal(back.get(), host)


def test_modes_of_indices(driver):
    host = (np.array([-1, 5, 2]), np.array([3, -4, 9]))
    there = tuple(map(cupola.to_device, host))
    for mode in ("wrap", "clip"):
        found = np.ravel_multi_index(there, (3, 4), mode)
        assert np.array_equal(found.get(), np.ravel_multi_index(host, (3, 4), mode))
    assert np.ravel_multi_index((there[0][2], 1), (3, 4)).item() == 9
    for call, message in [
        (lambda: cupola.ravel_multi_index(there, (3, 4), "near"), "argument mode"),
        (lambda: cupola.ravel_multi_index(there, (3,)), "2 indices for an array of 1 axes"),
        (lambda: cupola.unravel_index(there[0], "ab"), "argument shape"),
        (lambda: cupola.unravel_index(there[0], (3, 4), "K"), "argument order"),
        (lambda: cupola.unravel_index(cupola.ones(3), (3, 4)), "expected integers"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


@pytest.mark.parametrize("points", [1, 2, 30])
def test_interpolation(driver, points):
    rng = np.random.default_rng(points)
    xp, fp = np.sort(rng.integers(0, 8, points)), rng.normal(size=points)
    at = np.append(np.linspace(-1, 9, 41), np.nan).reshape(6, 7)
    arrays = [cupola.to_device(one) for one in (at, xp, fp)]
    for ends in ({}, {"left": -7, "right": np.inf}):
        expected = np.interp(at, xp, fp, **ends)
        np.testing.assert_allclose(np.interp(*arrays, **ends).get(), expected, rtol=1e-13)


def test_interpolation_in_a_capture(driver):
    points, values, x = np.array([-1.0, 0, 2]), np.array([3.0, 0, 5]), np.array([-2.0, 0.5, 1, 7])
    at, xp, fp = (cupola.to_device(one) for one in (x, points, values))
    stream = cupola.Stream()
    cupola.Device().synchronize()
    with stream.capture() as graph:
        found = cupola.interp(at, xp, fp)
    graph.instantiate().launch(stream)
    stream.synchronize()
    np.testing.assert_allclose(found.get(), np.interp(x, points, values))


def test_interpolation_of_nonsense(driver):
    x = cupola.ones(3)
    for call, message in [
        (lambda: cupola.interp(x, x, x, period=2), "argument period"),
        (lambda: cupola.interp(x, x, x[:2]), "equal length"),
        (lambda: cupola.interp(x, x[:0], x[:0]), "at least 1"),
        (lambda: cupola.interp(x, x, x * 1j), "argument fp: expected bool, integers or floats"),
        (lambda: cupola.interp(2.0, x, x), "argument x"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


LIKE = {
    "asarray": lambda like: np.asarray([1, 2], "f4", like=like),
    "array": lambda like: np.array([[1, 2]], ndmin=3, like=like),
    "asanyarray": lambda like: np.asanyarray((1.5, 2), like=like),
    "ascontiguousarray": lambda like: np.ascontiguousarray(np.ones((2, 3)).T, like=like),
    "asfortranarray": lambda like: np.asfortranarray(np.arange(6).reshape(2, 3), like=like),
    "arange": lambda like: np.arange(1, 9, 3, "f4", like=like),
    "full": lambda like: np.full((2, 3), 7, like=like),
    "ones": lambda like: np.ones(3, order="F", like=like),
    "zeros": lambda like: np.zeros((2, 2), "i2", like=like),
    "full_like": lambda like: np.full_like(like, fill_value=2, shape=(3, 2)),
    "ones_like": lambda like: np.ones_like(like, dtype="i4", subok=False),
    "zeros_like": lambda like: np.zeros_like(a=like),
}


@pytest.mark.parametrize("name", LIKE)
def test_arrays_like_those_of_a_device(driver, name):
    found, expected = LIKE[name](cupola.ones((2, 3))), LIKE[name](np.ones((2, 3)))
    assert isinstance(found, cupola.Array)
    assert (found.dtype, found.flags[:2]) == (
        expected.dtype, (expected.flags.c_contiguous, expected.flags.f_contiguous),
    )  # fmt: skip
    assert np.array_equal(found.get(), expected) and found.shape == expected.shape


def test_copies_of_device_arrays(driver):
    x = cupola.to_device(np.arange(6.0).reshape(2, 3))
    assert np.asarray(x, like=x) is x
    assert np.array(x, copy=None, like=x) is x
    copy = np.array(x.transpose(), like=x)
    copy += 1
    assert np.array_equal(x.get(), np.arange(6.0).reshape(2, 3))
    numbers = np.array([x[0, 1], x[1, 2], 7.0], like=x)
    assert np.array_equal(numbers.get(), [1, 5, 7])
    assert np.empty(3, "i2", like=x).dtype == np.int16
    assert np.empty_like(x, shape=(4,)).shape == (4,)
    with pytest.raises(TypeError, match="structured"):
        np.empty_like(x, dtype=[("value", "f8")])
    with pytest.raises(ArgumentError, match="argument device"):
        np.asarray(x, device="cpu", like=x)
