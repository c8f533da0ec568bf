"""Sorts and scans of more than 2^31 elements, in several parts."""

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
