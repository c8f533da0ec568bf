# examples/numba_rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels, ops

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def array(given):
    """The parameters that Numba makes of an array."""
    strides = [given.itemsize * int(np.prod(given.shape[i + 1 :])) for i in range(given.ndim)]
    return 0, 0, given.size, given.itemsize, given, *given.shape, *strides


def test_pointers():
    x, y = numbers(1000), numbers(1000)
    out = cupola.empty(1000, np.float32)
    kernels.axpy.forall(1000)(2.0, cupola.to_device(x), cupola.to_device(y), out=out, n=1000)
    assert np.allclose(out.get(), 2 * x + y, atol=1e-6)


def test_arrays():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.empty(1000, np.float32)
    kernels.axpy_arrays[8, 128](2.0, *array(x), *array(y), *array(out), 1000)
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)
    names = [one.name for one in kernels.axpy_arrays.params][1:8]
    assert names == [f"x_{what}" if what else "x" for what in (
        "meminfo", "parent", "nitems", "itemsize", "", "shape_0", "stride_0")]  # fmt: skip


def test_operations():
    x, y = numbers(1000), numbers(1000)
    assert np.allclose(ops.axpy(cupola.to_device(x), cupola.to_device(y), 2.0).get(), 2 * x + y)
    x = numbers(7, 300)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    expected = power / power.sum(axis=1, keepdims=True)
    assert np.allclose(ops.softmax(cupola.to_device(x)).get(), expected, atol=1e-6)


def test_arguments_are_checked():
    with pytest.raises(cupola.ArgumentTypeError, match="takes 5 arguments"):
        kernels.axpy[1, 32](2.0)
    with pytest.raises(cupola.ArgumentError, match="x"):
        kernels.axpy[1, 32](2.0, cupola.zeros(4, np.float64), None, None, 4)


def test_no_compiler_is_imported():
    assert not {"numba", "llvmlite"} & set(sys.modules)
