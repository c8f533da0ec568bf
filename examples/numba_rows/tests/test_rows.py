# examples/numba_rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels, ops

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def test_pointers():
    x, y = numbers(1000), numbers(1000)
    out = cupola.empty(1000, np.float32)
    kernels.axpy.forall(1000)(2.0, cupola.to_device(x), cupola.to_device(y), out=out, n=1000)
    assert np.allclose(out.get(), 2 * x + y, atol=1e-6)


def test_arrays():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.empty(1000, np.float32)
    kernels.axpy_arrays[8, 128](2.0, x, y, out=out, n=1000)
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)
    names = [one.name for one in kernels.axpy_arrays.params][1:8]
    assert names == [f"x_{what}" if what else "x" for what in (
        "meminfo", "parent", "nitems", "itemsize", "", "shape_0", "stride_0")]  # fmt: skip


def test_a_prepared_launch():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.zeros(1000, np.float32)
    launch = kernels.axpy_arrays.prepare(8, 128, 2.0, x, x, out, 1000)
    launch["y"] = y
    launch()
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)
    graph = cupola.Graph()
    graph.add_kernel(kernels.axpy_arrays, 8, 128, 3.0, x, y, out, 1000)
    graph.instantiate()()
    assert np.allclose(out.get(), 3 * x.get() + y.get(), atol=1e-6)


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
    x = cupola.zeros(8, np.float32)
    for given, told in (
        (x[::2], "not C-contiguous"),
        (x.reshape(2, 4), "one of 2 axes"),
        (cupola.zeros(8, np.int32), "elements of int32"),
        (np.zeros(8, np.float32), "numpy.ndarray; copy host memory"),
    ):
        with pytest.raises(cupola.ArgumentError, match=told):
            kernels.axpy_arrays[1, 32](2.0, given, x, x, 4)
    with pytest.raises(cupola.ArgumentTypeError, match=r"takes 5 arguments \(float a, a device"):
        kernels.axpy_arrays[1, 32](2.0, x, x)


def test_no_compiler_is_imported():
    assert not {"numba", "llvmlite"} & set(sys.modules)
