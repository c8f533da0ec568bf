"""Products of vectors and matrices, against NumPy."""

import numpy as np
import pytest
from reductions import TYPES, filled, same

import cupola


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_dot_products(driver, dtype):
    for n in (1, 5, 100, 5000, 150_000):
        x, y = filled(dtype, n, 1), filled(dtype, n, 2)
        there, other = cupola.to_device(x), cupola.to_device(y)
        products = x.astype(np.complex128 if dtype.kind == "c" else np.float64) * y
        for result in (there.dot(other), there @ other, np.dot(there[::-1], other[::-1])):
            if dtype.kind in "biu":
                same(result, np.asarray(np.dot(x, y)))
                continue
            assert result.dtype == dtype
            bound = 40 * np.finfo(dtype).eps * np.abs(products).sum()
            assert abs(result.item() - products.sum()) <= bound


def test_products_of_matrix_and_vector(driver):
    a, v = filled(np.dtype(np.int32), (17, 90)), filled(np.dtype(np.int32), 90, 2)
    there, vector = cupola.to_device(a), cupola.to_device(v)
    same(there @ vector, a @ v)
    same(np.matmul(there, vector), a @ v)
    same(vector @ there.T, v @ a.T)
    same(there.reshape(1, 17, 90).dot(vector), a.reshape(1, 17, 90).dot(v))
    out = cupola.empty((17,), np.int32)
    with pytest.raises(TypeError, match="must have the type of the products, int32"):
        there.dot(vector, out=cupola.empty((17,), np.int64))
    np.dot(there, vector, out=out)
    np.testing.assert_array_equal(out.get(), a @ v)
    same(there.dot(cupola.to_device(v.astype(np.int8))), a.dot(v.astype(np.int8)))
    same(vector.dot(3), v * 3)
    with pytest.raises(ValueError, match=r"don't fit: 90 \(axis 1\) elements by 17"):
        there @ vector[:17]
    with pytest.raises(ValueError, match="takes arrays with axes"):
        there @ cupola.ones(())
    with pytest.raises(TypeError):
        there @ 3
    with pytest.raises(TypeError, match="to_device"):
        there.dot(v)
