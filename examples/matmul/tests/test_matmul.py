# tests/test_matmul.py - products beside NumPy's, on a GPU or the CPU device.
"""Products of all shapes, by the kernel that the device gets."""

import matmul
import numpy as np
import pytest

import cupola


@pytest.mark.parametrize("shape", [(64, 64, 64), (100, 130, 200), (1, 1, 8), (65, 64, 7)])
def test_products_are_numpys(shape):
    rows, columns, depth = shape
    rng = np.random.default_rng(3)
    a = rng.integers(-8, 9, (rows, depth)).astype(np.float16)
    b = rng.integers(-8, 9, (columns, depth)).astype(np.float16)
    c = matmul.product(cupola.to_device(a), cupola.to_device(b)).get()
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_unlike_matrices_are_refused():
    a = cupola.ones((4, 8), np.float16)
    with pytest.raises(ValueError, match="rows of a have 8 elements, rows of b have 16"):
        matmul.product(a, cupola.ones((4, 16), np.float16))
    with pytest.raises(ValueError, match="matrix of float16"):
        matmul.product(a, cupola.ones((4, 8), np.float32))
