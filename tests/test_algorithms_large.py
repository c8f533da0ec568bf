"""Sorts, scans, copies and triangles of more than 2^31 elements."""

import numpy as np
import pytest

import cupola

N = 2**31 + 100_003
pytestmark = pytest.mark.cuda_only("the arrays have gigabytes")


@pytest.fixture
def here():
    if cupola.memory_info().free < 18 * N:
        pytest.skip(f"the device has less than {18 * N} bytes free")
    return np.random.default_rng(0).integers(0, 7, N, np.uint8)


def test_sort_and_argsort(driver, here):
    there = cupola.to_device(here)
    expected = np.repeat(np.arange(7, dtype=np.uint8), np.bincount(here))
    np.testing.assert_array_equal(cupola.sort(there).get(), expected)
    indices = cupola.argsort(there)
    for start in (0, 2**29 - 500, 2**30 - 500, 2**31 - 500, N - 1000):
        some = indices[start : start + 1000].get()
        np.testing.assert_array_equal(here[some], expected[start : start + 1000])
        assert np.all((np.diff(some) > 0) | (np.diff(here[some]) > 0))


def test_cumsum(driver, here):
    flags = here > 3
    sums = cupola.cumsum(cupola.to_device(flags))
    for start in (0, 2**30 - 500, 2**31 - 500, N - 1000):
        before = np.count_nonzero(flags[:start])
        expected = before + np.cumsum(flags[start : start + 1000])
        np.testing.assert_array_equal(sums[start : start + 1000].get(), expected)


def test_a_reversed_copy_and_a_triangle(driver, here):
    there = cupola.to_device(here)
    reversed_copy = there[::-1].copy()
    for start in (0, 2**30 - 500, 2**31 - 500, N - 1000):
        expected = here[::-1][start : start + 1000]
        np.testing.assert_array_equal(reversed_copy[start : start + 1000].get(), expected)
    rows, columns = 2, N // 2
    lower = cupola.tril(there[: rows * columns].reshape(rows, columns), columns - 9)
    assert lower[0, -9:].get().tolist() == [*here[columns - 9 : columns - 8], *[0] * 8]
    np.testing.assert_array_equal(lower[1, -9:].get()[:1], here[2 * columns - 9 : 2 * columns - 8])
    assert lower[1, -7:].get().tolist() == [0] * 7
