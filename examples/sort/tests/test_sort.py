# tests/test_sort.py - sorts beside NumPy's, on a GPU or the CPU device.
"""Sorts by several comparisons."""

import numpy as np
import order_by
import pytest

import cupola

LESS = 'extern "C" __device__ bool less(const float& a, const float& b) {{ return {}; }}'
ORDERS = {
    "a < b": lambda x: x,
    "a > b": lambda x: -x,
    "fabsf(a) < fabsf(b)": np.abs,
    "int(a) % 7 < int(b) % 7": lambda x: np.fmod(x.astype(int), 7),
}


@pytest.fixture(scope="module", params=ORDERS)
def by(request):
    return order_by.order(LESS.format(request.param)), ORDERS[request.param]


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 100, 2047, 2048, 2049, 4096, 10_000])
def test_a_stable_sort(by, n):
    sort, key = by
    x = np.random.default_rng(n).integers(-500, 500, n).astype(np.float32)
    expected = x[np.argsort(key(x), kind="stable")]
    np.testing.assert_array_equal(sort(cupola.to_device(x)).get(), expected)


def test_other_arrays_are_refused():
    sort = order_by.order(LESS.format("a < b"))
    with pytest.raises(ValueError, match="array of float32"):
        sort(cupola.zeros(4, np.float64))


def test_a_missing_comparison_is_named():
    with pytest.raises(cupola.CompileError, match="uses bool less"):
        order_by.order("__device__ int more;")
    with pytest.raises(cupola.ImageError, match=r"cupola.link\(\[order_by.kernels"):
        order_by.kernels.sort_tiles  # noqa: B018
