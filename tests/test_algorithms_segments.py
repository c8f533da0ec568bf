"""Reductions of segments against NumPy's reduceat."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reductions import TYPES, filled
from working import refused

import cupola

UFUNCS = (np.add, np.multiply, np.minimum, np.maximum)


def check(ufunc, here, indices, axis=0, **options):
    got = ufunc.reduceat(cupola.to_device(here), indices, axis, **options)
    assert isinstance(got, cupola.Array)
    got = got.get()
    expected = ufunc.reduceat(here, indices, axis, **options)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if here.dtype.kind in "fc" and ufunc in (np.add, np.multiply):
        sizes = np.add.reduceat(np.abs(here.astype(np.complex128)), indices, axis)
        eps = np.finfo(here.dtype).eps
        scale = np.abs(expected) if ufunc is np.multiply else sizes
        assert np.all(np.abs(got - expected) <= 200 * eps * scale + eps)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type(driver, dtype):
    here = filled(dtype, (300, 3))
    for ufunc in UFUNCS:
        some = here[:40] if ufunc is np.multiply else here
        check(ufunc, some, [0, 5, 5, 38, 7, 39])
        check(ufunc, some.T.copy(), [3, 0, 33], 1)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 127, 128, 129, 2048, 2049, 70_000])
def test_lengths_of_segments(driver, n):
    for dtype in (np.int32, np.float64):
        here = filled(np.dtype(dtype), n)
        for ufunc in (np.add, np.maximum):
            check(ufunc, here, [0])
            check(ufunc, here, [n // 2, 0, n - 1])


@given(st.lists(st.integers(0, 199), max_size=30), st.integers(0, 2), st.sampled_from(UFUNCS))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_indices_and_axis(driver, indices, axis, ufunc):
    shape = [2, 3, 4]
    shape[axis] = 200
    check(ufunc, filled(np.dtype(np.int64), shape), np.array(indices, np.int32), axis)


def test_nan_of_complex_numbers(driver):
    here = filled(np.dtype(np.complex64), 500)
    here[100], here[130], here[300] = complex(np.nan, 1), complex(2, np.nan), np.inf
    check(np.minimum, here, [0, 120, 250])
    check(np.maximum, here, [0, 101, 250])


def test_dtype_out_and_indices_of_a_device(driver):
    here = filled(np.dtype(np.int16), (20, 6))
    there, indices = cupola.to_device(here), cupola.to_device(np.array([0, 9]))
    check(np.add, here, [0, 9], 0, dtype=np.int8)
    out = cupola.zeros((2, 6), np.float32)
    assert np.add.reduceat(there, indices, out=out) is out
    np.testing.assert_array_equal(out.get(), np.add.reduceat(here, [0, 9]).astype(np.float32))


def test_errors_name_function_and_argument(driver):
    x = cupola.zeros((4, 3))
    for wrong in ([4], [-1], [0, 9]):
        with refused(cupola.ArgumentValueError, ValueError, saying="add.reduceat: argument ind"):
            np.add.reduceat(x, wrong)
    for wrong in ([0.5], [[0]]):
        with refused(cupola.ArgumentTypeError, TypeError, saying="add.reduceat: argument ind"):
            np.add.reduceat(x, wrong)
    with refused(cupola.ArgumentValueError, ValueError, saying="add.reduceat: argument axis"):
        np.add.reduceat(x, [0], 2)
    with refused(cupola.ArgumentTypeError, TypeError, saying="numpy.divide.reduceat"):
        np.divide.reduceat(x, [0])
    with refused(cupola.ArgumentValueError, ValueError, saying="add.reduceat: argument out"):
        np.add.reduceat(x, [0], out=cupola.zeros(3))
