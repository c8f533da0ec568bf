"""Cumulative sums, products, minima and maxima against NumPy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reductions import INTEGERS, ROUNDING, TYPES, filled
from working import refused

import cupola

# Around the rows of a warp, the elements of a tile, and the totals of 32 tiles.
BORDERS = [0, 1, 2, 16, 17, 32, 33, 1024, 1025, 1280, 2816, 2817, 3840, 3841, 5 * 256 * 33 + 1]

checked = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def same(there, expected):
    assert isinstance(there, cupola.Array)
    got = there.get()
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


def near(there, here, axis=None):
    """A sum within the bound of the docstring."""
    wide = np.clongdouble if here.dtype.kind == "c" else np.longdouble
    exact, sizes = here.astype(wide).cumsum(axis), np.abs(here.astype(wide)).cumsum(axis)
    got = there.get()
    assert (got.dtype, got.shape) == (here.dtype, exact.shape)
    eps = np.finfo(np.float32 if here.dtype == np.float16 else here.dtype).eps
    bound = (80 + here.size / 2**20) * eps * sizes
    if here.dtype == np.float16:
        bound += np.abs(exact) * np.finfo(np.float16).eps / 2 + 1e-7
    assert np.all(np.abs(got - exact) <= bound)


def check_sums(here, there, axis):
    if here.dtype.kind in "biu":
        same(cupola.cumsum(there, axis), np.cumsum(here, axis))
        same(cupola.cumprod(there, axis), np.cumprod(here, axis))
        return
    near(cupola.cumsum(there, axis), here, axis)
    # Factors near 1, of which the product neither overflows nor vanishes.
    wide = np.clongdouble if here.dtype.kind == "c" else np.longdouble
    factors = (1 + here.astype(wide) / 4096).astype(here.dtype)
    exact = factors.astype(wide).cumprod(axis)
    got = cupola.cumprod(cupola.to_device(factors), axis).get()
    eps = np.finfo(here.dtype).eps
    assert (got.dtype, got.shape) == (here.dtype, exact.shape)
    n = here.size if axis is None else here.shape[axis]
    relative = n * eps * (4 if here.dtype.kind == "c" else 1)
    if here.dtype == np.float16:  # multiplied in float32
        relative = n * np.finfo(np.float32).eps + eps
    assert np.all(np.abs(got - exact) <= relative * np.abs(exact))


def with_nan(dtype, shape, seed=0):
    here = filled(dtype, shape, seed)
    if dtype.kind in "fc":
        random = np.random.default_rng(seed)
        here[random.random(shape) < 0.001] = np.nan
        here[random.random(shape) < 0.01] = -np.inf
        here[random.random(shape) < 0.01] = 0.0
    return here


def check_extremes(here, there, axis):
    for ufunc in (np.minimum, np.maximum):
        same(ufunc.accumulate(there, axis), ufunc.accumulate(here, axis))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_along_every_axis(driver, dtype):
    for shape in ((7000,), (3, 1500), (40, 30), (4, 70, 5)):
        here, other = filled(dtype, shape), with_nan(dtype, shape)
        there, other_there = cupola.to_device(here), cupola.to_device(other)
        for axis in range(len(shape)):
            check_sums(here, there, axis)
            check_extremes(other, other_there, axis)
        check_sums(here, there, None)


@pytest.mark.parametrize("n", BORDERS)
def test_borders(driver, n):
    for name in ("int32", "float64", "complex128", "float16"):
        here = filled(np.dtype(name), n, n)
        check_sums(here, cupola.to_device(here), 0)
    here = with_nan(np.dtype(np.float32), n, n)
    check_extremes(here, cupola.to_device(here), 0)


@given(
    st.sampled_from([np.dtype(name) for name in ("bool", "int16", "uint64", "float32")]),
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
    st.integers(0, 2),
    st.booleans(),
)
@checked
def test_any_shape_axis_and_layout(driver, dtype, shape, axis, transposed):
    here = filled(dtype, shape)
    there = cupola.to_device(here)
    if transposed:
        here, there = here.T, there.T
    axis = min(axis, here.ndim - 1)
    check_sums(here, there, axis)
    check_extremes(here, there, axis - here.ndim)
    check_sums(here, there, None)


def test_many_tiles(driver):
    """More than 1024 tiles, so that all levels of totals are used."""
    here = filled(np.dtype(np.complex128), 5 * 256 * 1100 + 3)
    there = cupola.to_device(here)
    first = cupola.cumsum(there)
    near(first, here)
    assert cupola.cumsum(there).get().tobytes() == first.get().tobytes()
    here = filled(np.dtype(np.int64), 11 * 256 * 1030 + 3)
    same(cupola.cumsum(cupola.to_device(here)), np.cumsum(here))


def test_many_columns_and_tiny_rows(driver):
    for shape, axis in (((70, 5000), 0), ((2, 66, 4096), 1), ((999, 3), 1), ((100, 16), 1)):
        here = filled(np.dtype(np.int32), shape)
        same(cupola.cumsum(cupola.to_device(here), axis), np.cumsum(here, axis))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_dtype_of_the_result(driver, dtype):
    here = filled(np.dtype(np.int16), (5, 300))
    there = cupola.to_device(here)
    with np.errstate(over="ignore"):
        for function, ours in ((np.cumsum, cupola.cumsum), (np.cumprod, cupola.cumprod)):
            same(ours(there, 1, dtype), function(here, 1, dtype))
    same(cupola.cumsum(there, dtype=np.float64), np.cumsum(here, dtype=np.float64))  # exact
    for ufunc in (np.add, np.multiply, np.minimum, np.maximum):
        same(ufunc.accumulate(there, 0, dtype), ufunc.accumulate(here, 0, dtype))


def test_out(driver):
    here = filled(np.dtype(np.int16), (30, 40)).astype(np.int64)  # sums are exact in float64
    for dtype in (np.int64, np.int32, np.float64):
        out = cupola.zeros((30, 40), dtype)
        expected = np.zeros((30, 40), dtype)
        assert np.cumsum(cupola.to_device(here), 0, out=out) is out
        same(out, np.cumsum(here, 0, out=expected))
        assert np.add.accumulate(cupola.to_device(here), 1, out=out) is out
        same(out, np.add.accumulate(here, 1, out=expected))
    there = cupola.to_device(here)
    same(cupola.cumsum(there, 1, out=there), np.cumsum(here, 1))
    there = cupola.to_device(here)
    same(cupola.cumsum(there[:, 1:], 1, out=there[:, :-1]), np.cumsum(here[:, 1:], 1))
    flat = cupola.zeros(1200, np.int64)
    same(cupola.cumsum(cupola.to_device(here), out=flat), np.cumsum(here))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_functions(driver, name):
    here = filled(np.dtype(np.int32), (6, 7))
    there, ours = cupola.to_device(here), getattr(cupola, name)
    plain = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
    for axis in (0, 1, -1):
        expected = plain(here, axis)
        same(ours(there, axis=axis), expected)
        one = np.full_like(expected.take([0], axis), name == "cumulative_prod")
        with_initial = np.concatenate([one, expected], axis)
        same(ours(there, axis=axis, include_initial=True), with_initial)
        out = cupola.zeros(with_initial.shape, np.int64)
        assert ours(there, axis=axis, include_initial=True, out=out) is out
        same(out, with_initial)
    same(ours(there[0]), plain(here[0]))
    if hasattr(np, name):
        same(
            getattr(np, name)(there[0], include_initial=True),
            getattr(np, name)(here[0], include_initial=True),
        )
    with refused(cupola.ArgumentValueError, ValueError, saying=f"{name}: argument axis"):
        ours(there)


def test_numbers_without_axes(driver):
    x = cupola.full((), 3, np.int8)
    same(cupola.cumsum(x), np.array([3]))
    with refused(cupola.ArgumentTypeError, TypeError, saying="numpy.add.accumulate"):
        np.add.accumulate(x)


def test_errors_name_function_and_argument(driver):
    x = cupola.zeros((2, 3))
    with refused(cupola.ArgumentTypeError, TypeError, saying="cumsum: argument a"):
        cupola.cumsum([1, 2])
    with refused(cupola.ArgumentValueError, ValueError, saying="cumsum: argument axis: 2"):
        cupola.cumsum(x, 2)
    with refused(cupola.ArgumentTypeError, TypeError, saying="cumsum: argument out"):
        cupola.cumsum(x, 0, out=np.zeros((2, 3)))
    with refused(cupola.ArgumentValueError, ValueError, saying="argument out: expected the shape"):
        cupola.cumsum(x, 0, out=cupola.zeros(6))
    with refused(cupola.ArgumentTypeError, TypeError, saying="cumsum: argument out"):
        cupola.cumsum(x, 0, np.float64, out=cupola.zeros((2, 3), np.int32))
    with refused(cupola.ArgumentTypeError, TypeError, saying="numpy.subtract.accumulate"):
        np.subtract.accumulate(x)
    with refused(cupola.ArgumentValueError, ValueError, saying="numpy.add.accumulate: argument"):
        np.add.accumulate(x, None)
    with refused(cupola.ArgumentTypeError, TypeError, saying="cumsum: elements"):
        cupola.cumsum(x, 0, np.longdouble)


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_bits_are_the_same_in_each_run(driver, dtype):
    there = cupola.to_device(filled(dtype, 256 * 15 * 40))
    first = cupola.cumsum(there).get().tobytes()
    assert all(cupola.cumsum(there).get().tobytes() == first for _ in range(5))
