"""Sorted arrays against NumPy's stable sort, bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reductions import TYPES
from working import refused

import cupola
from cupola.arrays import radix_sort

REALS = [dtype for dtype in TYPES if dtype.kind in "biuf"]
# One dtype for each size of a key and each order of bits.
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


def complex_keys(dtype, shape, seed=0):
    real = np.dtype(f"f{dtype.itemsize // 2}")
    here = np.empty(shape, dtype)
    here.real, here.imag = keys(real, shape, seed), keys(real, shape, seed + 1)
    return here


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


@pytest.mark.parametrize("dtype", [np.dtype(np.complex64), np.dtype(np.complex128)], ids=str)
def test_complex_numbers(driver, dtype):
    for shape in ((300,), (2, 6000), (40, 7), (0,)):
        here = complex_keys(dtype, shape)
        check(here, cupola.to_device(here))
    here = complex_keys(dtype, (5, 6, 7))
    check(here, cupola.to_device(here), 1)


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


def test_parts_and_wide_indices(driver, monkeypatch):
    """The passes over more than 2^29 and 2^32 elements, with smaller limits."""
    monkeypatch.setattr(radix_sort, "_PART", 9000)
    for dtype in CHOSEN:
        for shape in ((40_000,), (2, 9001)):
            here = keys(dtype, shape)
            check(here, cupola.to_device(here))
    monkeypatch.setattr(radix_sort, "_NARROW", 10_000)
    for dtype in (*CHOSEN, np.dtype(np.complex64)):
        here = keys(dtype, 20_000) if dtype.kind != "c" else complex_keys(dtype, 20_000)
        check(here, cupola.to_device(here))
    here = keys(np.dtype(np.float32), 20_000)
    values, indices = cupola.top_k(cupola.to_device(here), 3, largest=False)
    np.testing.assert_array_equal(values.get(), np.sort(here)[:3])
    np.testing.assert_array_equal(indices.get(), np.argsort(here, kind="stable")[:3])
    monkeypatch.setattr(radix_sort, "_ROWS", 4)
    here = keys(np.dtype(np.int64), (9, 5))
    check(here, cupola.to_device(here))


def test_small_words_are_shared(driver, monkeypatch):
    monkeypatch.setattr(radix_sort, "_WORDS", 0)
    here = keys(np.dtype(np.float64), (3, 30_000))
    check(here, cupola.to_device(here))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_top_k(driver, dtype):
    for shape, axis in (((30, 20), -1), ((30, 20), 0), ((6000,), 0)):
        here = keys(dtype, shape)
        there = cupola.to_device(here)
        for k in (0, 1, 7, shape[axis]):
            for largest in (True, False):
                # The order of `codes` is the order of the elements, descending where largest.
                codes = np.unique(here, return_inverse=True)[1].reshape(shape)
                wanted = np.argsort(-codes if largest else codes, axis, kind="stable")
                wanted = wanted.take(range(k), axis)
                values, indices = cupola.top_k(there, k, axis, largest)
                np.testing.assert_array_equal(indices.get(), wanted)
                assert values.dtype == dtype
                expected = np.take_along_axis(here, wanted, axis)
                assert values.get().tobytes() == expected.tobytes()


def test_partition_and_lexsort(driver):
    here = keys(np.dtype(np.float32), (8, 50))
    there = cupola.to_device(here)
    np.testing.assert_array_equal(np.partition(there, 7, 0).get(), np.sort(here, 0))
    got = np.argpartition(there, [3, -1]).get()
    np.testing.assert_array_equal(got, np.argsort(here, kind="stable"))
    low = keys(np.dtype(np.int8), (8, 50)) % 3
    high = keys(np.dtype(np.float32), (8, 50)).round()
    both = cupola.to_device(low), cupola.to_device(high)
    for axis in (-1, 0):
        np.testing.assert_array_equal(np.lexsort(both, axis).get(), np.lexsort((low, high), axis))
    np.testing.assert_array_equal(cupola.lexsort(there).get(), np.lexsort(here))
    high = complex_keys(np.dtype(np.complex64), (8, 50)).round()
    got = cupola.lexsort([both[0], cupola.to_device(high)]).get()
    np.testing.assert_array_equal(got, np.lexsort((low, high)))


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
    x = cupola.to_device(keys(np.dtype(np.float32), 6000), stream=stream)
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
    for axis, array in ((2, x), (-3, x), (1, cupola.zeros(()))):
        with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: argument axis"):
            ours(array, axis=axis)
    with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: argument kind"):
        ours(x, kind="bogo")
    with refused(cupola.ArgumentValueError, ValueError, saying=f"{function}: give kind="):
        ours(x, kind="stable", stable=True)
    with refused(cupola.ArgumentTypeError, TypeError, saying=f"{function}: argument order"):
        ours(x, order="x")


def test_errors_of_other_functions(driver):
    x = cupola.zeros((2, 3))
    for k in (4, -1):
        with refused(cupola.ArgumentValueError, ValueError, saying="top_k: argument k"):
            cupola.top_k(x, k)
    with refused(cupola.ArgumentTypeError, TypeError, saying="top_k: argument k"):
        cupola.top_k(x, 1.0)
    with refused(cupola.ArgumentTypeError, TypeError, saying="top_k: argument x"):
        cupola.top_k(cupola.zeros(3, np.complex64), 1)
    with refused(cupola.ArgumentValueError, ValueError, saying="top_k: argument axis"):
        cupola.top_k(x, 1, 2)
    with refused(cupola.ArgumentValueError, ValueError, saying="partition: argument kth"):
        cupola.partition(x, 3)
    with refused(cupola.ArgumentTypeError, TypeError, saying="argpartition: argument kth"):
        cupola.argpartition(x, 1.5)
    with refused(cupola.ArgumentValueError, ValueError, saying="partition: argument kind"):
        cupola.partition(x, 1, kind="stable")
    with refused(cupola.ArgumentTypeError, TypeError, saying="lexsort: argument keys"):
        cupola.lexsort([])
    with refused(cupola.ArgumentValueError, ValueError, saying="lexsort: argument keys"):
        cupola.lexsort([x, cupola.zeros(3)])
