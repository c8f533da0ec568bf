"""Arguments of reductions: type, shape and place of the result, NumPy's functions, refusals."""

import warnings

import numpy as np
import pytest
from reductions import TYPES, check, filled, same

import cupola


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("wanted", ["bool", "int8", "uint32", "int64", "float32", "float64"])
def test_a_reduction_takes_a_type(driver, dtype, wanted):
    random = np.random.default_rng(0)
    here = random.integers(0, 3, (6, 50)).astype(dtype)
    there = cupola.to_device(here)
    for axis in (None, 0, 1):
        for name in ("sum", "prod"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # imaginary parts are left out
                expected = np.asarray(getattr(here, name)(axis, dtype=wanted))
            same(getattr(there, name)(axis, dtype=wanted), expected)
    if wanted.startswith("float"):
        result = there.mean(1, dtype=wanted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = here.mean(1, dtype=wanted)
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_a_mean_of_an_integer_type_is_refused(driver):
    with pytest.raises(TypeError, match="a mean needs a float"):
        cupola.ones(3).mean(dtype=np.int32)


def test_results_have_numpys_shapes(driver):
    here = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    there = cupola.to_device(here)
    for axis in (None, 0, -1, (0, 2), ()):
        for keepdims in (False, True):
            same(there.sum(axis, keepdims=keepdims), np.asarray(here.sum(axis, keepdims=keepdims)))
    same(there.argmax(1, keepdims=True), here.argmax(1, keepdims=True))
    same(there.argmax(keepdims=True), here.argmax(keepdims=True))
    scalar = cupola.to_device(np.array(5.0))
    same(scalar.sum(), np.asarray(5.0))
    same(scalar.sum(axis=0), np.asarray(5.0))
    same(scalar.max(axis=-1), np.asarray(5.0))


def test_results_are_written_into_out(driver):
    here = np.arange(12, dtype=np.int32).reshape(3, 4)
    there = cupola.to_device(here)
    out = cupola.zeros((8,), np.float64)
    assert there.sum(0, out=out[::2]).address == out.address
    np.testing.assert_array_equal(out.get(), np.insert(here.sum(0), [1, 2, 3, 4], 0))
    narrow = cupola.empty((), np.int8)
    there.sum(out=narrow)
    assert narrow.item() == 66
    truth = cupola.empty((3,), np.int32)
    there.any(1, out=truth)
    np.testing.assert_array_equal(truth.get(), [1, 1, 1])
    place = cupola.empty((4,), np.int64)
    assert there.argmax(0, out=place) is place
    np.testing.assert_array_equal(place.get(), here.argmax(0))
    there.sum(0, out=there[1], dtype=np.int32)  # over what is read
    np.testing.assert_array_equal(there.get()[1], here.sum(0))


def test_reductions_of_no_elements_equal_numpys(driver):
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)):
        here = np.zeros(shape, np.float32)
        there = cupola.to_device(here)
        for axis in (None, *range(len(shape))):
            for name in ("sum", "prod", "any", "all"):
                same(getattr(there, name)(axis), np.asarray(getattr(here, name)(axis)))
            for name in ("min", "max", "argmin", "argmax"):
                check(name, there, here, axis)
        assert np.isnan(there.mean().item())
    for dtype in (np.complex64, np.complex128):
        same(cupola.zeros((0, 2), dtype).mean(0), np.full(2, complex(np.nan, np.nan), dtype))
    same(cupola.zeros((0,), np.int8).dot(cupola.zeros((0,), np.int8)), np.zeros((), np.int8))


def test_numpys_functions_reduce_arrays(driver):
    here = filled(np.dtype(np.float64), (30, 40))
    there = cupola.to_device(here)
    for name in ("sum", "prod", "min", "max", "amin", "any", "all", "mean", "argmin", "argmax"):
        function = getattr(np, name)
        result = function(there, axis=1)
        assert isinstance(result, cupola.Array)
        np.testing.assert_allclose(result.get(), function(here, axis=1), rtol=1e-13)
    for ufunc in (np.add, np.multiply, np.minimum, np.maximum, np.logical_or, np.logical_and):
        np.testing.assert_allclose(ufunc.reduce(there).get(), ufunc.reduce(here), rtol=1e-12)
        kept = ufunc.reduce(there, axis=(0, 1), keepdims=True)
        np.testing.assert_allclose(
            kept.get(), ufunc.reduce(here, axis=(0, 1), keepdims=True), rtol=1e-12
        )
    out = cupola.empty((40,), np.float64)
    assert np.add.reduce(there, axis=0, out=out) is out
    assert np.sum(there, axis=0, keepdims=True).shape == (1, 40)
    assert np.sum(there, dtype=np.float32).dtype == np.float32
    assert np.shape(there) == (30, 40)
    assert np.ndim(there) == 2


def test_wrong_arguments_are_refused(driver):
    there = cupola.ones((3, 4))
    for call, message in [
        (lambda: there.sum(axis=2), "axis 2 is out of bounds for an array of 2 axes"),
        (lambda: there.sum(axis=(0, -2)), "stands twice"),
        (lambda: there.sum(out=cupola.empty((3,))), r"out has shape \(3,\), the result \(\)"),
        (lambda: cupola.empty((0,)).max(), "max of no elements"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    for call, message in [
        (lambda: there.sum(axis=1.5), "an axis is an int"),
        (lambda: there.argmax(axis=(0, 1)), "take one axis"),
        (lambda: there.sum(out=np.empty(())), "out must be a cupola.Array"),
        (lambda: there.sum(out=cupola.empty((), np.int32)), "not of the same kind"),
        (lambda: there.argmin(out=cupola.empty((), np.int32)), "of int64 for indices"),
        (lambda: there.sum(initial=3), "initial= and where="),
        (lambda: np.max(there, where=np.ones((3, 4), bool)), "initial= and where="),
        (lambda: np.subtract.reduce(there), "has no kernel"),
        (lambda: np.add.outer(there, there), "not supported on a device"),
        (lambda: np.gradient(there), "implicitly"),
        (lambda: cupola.empty(3, "S4").max(), "arithmetic on"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(ValueError):
        there.free()
        there.sum()
