"""Arrays to reduce, in every type and order, and comparisons with NumPy's results."""

import warnings

import numpy as np
import pytest

import cupola

NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
complex64 complex128"""
TYPES = [np.dtype(name) for name in NAMES.split()]
INTEGERS = [dtype for dtype in TYPES if dtype.kind in "biu"]
ROUNDING = [dtype for dtype in TYPES if dtype.kind in "fc"]
ALL = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax"]
EXACT = ["min", "max", "any", "all", "argmin", "argmax"]


def filled(dtype, shape, seed=0):
    """Random elements over a type's range; floats are in [-2, 2]."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    real = (random.random(shape) * 4 - 2).astype(dtype)
    return real + (1j * random.random(shape)).astype(dtype) if dtype.kind == "c" else real


def same(there, here):
    assert isinstance(there, cupola.Array)
    got = there.get()
    assert (got.dtype, got.shape) == (here.dtype, here.shape)
    np.testing.assert_array_equal(got, here)


def near(there, array, axis=None, keepdims=False, factor=1.0):
    """Checks a sum within the rounding error of a summation tree."""
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    if array.dtype == wide:
        wide = np.clongdouble if array.dtype.kind == "c" else np.longdouble
    exact = array.astype(wide).sum(axis, keepdims=keepdims) * factor
    sizes = np.abs(array.astype(wide)).sum(axis, keepdims=keepdims) * factor
    got = there.get()
    assert got.dtype == array.dtype
    assert got.shape == exact.shape
    assert np.all(np.abs(got - exact) <= 40 * np.finfo(array.dtype).eps * sizes)


def axes_of(ndim):
    yield None
    yield from range(-ndim, ndim)
    if ndim > 1:
        yield ()
        yield (0, -1)
    if ndim > 2:
        yield from ((0, 1), (1, 2), (2, 0, 1))


def layouts(array):
    """Views of an array in several orders and strides."""
    yield array
    yield array.T
    if array.ndim:
        yield array[::-1]
        yield array[..., ::2]
        yield array[1:]


SHAPES = [(), (1,), (7,), (65,), (3, 5), (130, 3), (3, 130), (4, 5, 6), (2, 40, 3), (9, 1, 17)]


def check(name, there, here, axis):
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # means of no elements
            expected = getattr(here, name)(axis=axis)
    except ValueError:
        with pytest.raises(ValueError):
            getattr(there, name)(axis=axis)
        return
    result = getattr(there, name)(axis=axis)
    expected = np.asarray(expected)
    if here.dtype.kind in "biu" and name == "mean":
        got = result.get()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    elif here.dtype.kind in "biu" or name in EXACT:
        same(result, expected)
    elif name == "sum":
        near(result, here, axis)
    else:
        got = result.get()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        tolerance = 200 * np.finfo(here.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
