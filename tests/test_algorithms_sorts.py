"""Sorted arrays against NumPy's stable sort, bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reductions import TYPES
from working import refused

import cupola

REALS = [dtype for dtype in TYPES if dtype.kind in "biuf"]
# One for each size of a key and each order of bits.
CHOSEN = [np.dtype(name) for name in ("int8", "float16", "uint32", "float32", "int64", "float64")]
# Around the longest rows of one block, and a tile.
BORDERS = [0, 1, 2, 31, 33, 511, 512, 513, 4095, 4096, 4097, 5760, 5761, 7297, 9728]

checked = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def keys(dtype, shape, seed=0):
    """Elements with many equal ones, all NaN, both zeros and infinities."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        wide = random.integers(info.min, info.max, shape, dtype, endpoint=True)
        return np.where(random.random(shape) < 0.5, wide, wide % 7).astype(dtype)
    special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, np.finfo(dtype).tiny], dtype)
    # A NaN of another sign is equal in the order, so its bits show whether the sort is stable.
    special[1] = np.copysign(special[1], -1)
    plain = (random.standard_normal(shape) * 3).round(1).astype(dtype)
    return np.where(random.random(shape) < 0.3, random.choice(special, shape), plain).astype(dtype)


def check(here, there, axis=-1):
    for function, ours in ((np.sort, cupola.sort), (np.argsort, cupola.argsort)):
        expected = function(here, axis=axis, kind="stable")
        got = ours(there, axis=axis)
        assert isinstance(got, cupola.Array)
        got = got.get()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_every_type(driver, dtype):
    for shape in ((700,), (3, 5000), (40, 7)):
        here = keys(dtype, shape)
        check(here, cupola.to_device(here))


@pytest.mark.parametrize("n", BORDERS)
def test_borders_of_rows_and_tiles(driver, n):
    for dtype in CHOSEN[n % 2 :: 2]:
        here = keys(dtype, n, n)
        check(here, cupola.to_device(here))


@given(
    st.sampled_from(CHOSEN),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.integers(-4, 3),
    st.booleans(),
    st.integers(0, 99),
)
@checked
def test_any_shape_axis_and_layout(driver, dtype, shape, axis, transposed, seed):
    here = keys(dtype, shape, seed)
    there = cupola.to_device(here)
    if transposed:
        here, there = here.T, there.T
    axis = max(-here.ndim, min(axis, here.ndim - 1))
    check(here, there, axis)
    check(here, there, None)


@given(st.integers(4097, 40_000), st.integers(1, 3), st.integers(0, 99))
@example(23_041, 1, 0)
@checked
def test_long_rows(driver, n, rows, seed):
    here = keys(CHOSEN[seed % len(CHOSEN)], (rows, n), seed)
    check(here, cupola.to_device(here))
    check(here, cupola.to_device(here), None)


def test_equal_sorted_and_reversed_elements(driver):
    for n in (300, 20_000):
        for here in (np.zeros(n, np.float32), np.arange(n), np.arange(n)[::-1].copy()):
            check(here, cupola.to_device(here))


def test_views_and_kinds(driver):
    base = keys(np.dtype(np.float32), (50, 60))
    there = cupola.to_device(base)
    check(base[3:, ::-2], there[3:, ::-2])
    for kind in ("quicksort", "mergesort", "heapsort", "stable", "S", None):
        np.testing.assert_array_equal(cupola.sort(there, kind=kind).get(), np.sort(base))
    np.testing.assert_array_equal(cupola.sort(there, stable=True).get(), np.sort(base))
    np.testing.assert_array_equal(there.get(), base)


def test_numpy_functions_compute_on_the_device(driver):
    here = keys(np.dtype(np.int32), (30, 20))
    there = cupola.to_device(here)
    for function in (np.sort, np.argsort):
        got = function(there, 0, "stable")
        assert isinstance(got, cupola.Array)
        np.testing.assert_array_equal(got.get(), function(here, 0, "stable"))


def test_a_captured_sort_is_replayed(driver):
    stream = cupola.Stream(non_blocking=True)
    x = cupola.to_device(keys(np.dtype(np.float32), 6000))
    with stream:
        cupola.sort(x)  # loads the image
        with stream.capture() as captured:
            out = cupola.sort(x)
    graph = captured.instantiate()
    for seed in (1, 2):
        here = keys(np.dtype(np.float32), 6000, seed)
        x.set(here, stream=stream)
        graph.launch(stream)
        np.testing.assert_array_equal(out.get(stream=stream), np.sort(here))


@pytest.mark.parametrize("function", ["sort", "argsort"])
def test_errors_name_function_and_argument(driver, function):
    ours, x = getattr(cupola, function), cupola.zeros((2, 3))
    with refused(cupola.ArgumentTypeError, TypeError, saying=f"{function}: argument a"):
        ours(np.zeros(3))
    with refused(cupola.ArgumentTypeError, TypeError, saying=f"{function}: argument a"):
        ours(cupola.zeros(3, [("x", "f4")]))
    with refused(cupola.ArgumentTypeError, TypeError, saying=f"{function}: argument axis"):
        ours(x, axis="0")
    for axis, array in ((2, x), (-3, x), (-1, cupola.zeros(()))):
        with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: argument axis"):
            ours(array, axis=axis)
    with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: argument kind"):
        ours(x, kind="bogo")
    with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: give kind="):
        ours(x, kind="stable", stable=True)
    with refused(cupola.ArgumentTypeError, TypeError, saying=f"{function}: argument order"):
        ours(x, order="x")
