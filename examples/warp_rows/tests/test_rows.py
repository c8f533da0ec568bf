# examples/warp_rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels, ops

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def test_a_vector():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.empty(1000, np.float32)
    kernels.axpy[4](1000, 2.0, x, y, out=out)
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)


def test_softmax():
    x = numbers(100, 30)
    given, out = cupola.to_device(x), cupola.empty((100, 30), np.float32)
    kernels.softmax[2](100, given, out)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(out.get(), power / power.sum(axis=1, keepdims=True), atol=1e-6)


def test_parameters_are_named_and_checked():
    assert [one.name for one in kernels.axpy.params] == ["dim", "a", "x", "y", "out"]
    assert kernels.axpy.params[2].type == "wp::array_t<float32>"
    x = cupola.zeros(4, np.float32)
    for given, told in (
        (cupola.zeros(4, np.float64), "elements of float64"),
        (cupola.zeros((2, 2), np.float32), "one of 2 axes"),
        (np.zeros(4, np.float32), "in host memory"),
    ):
        with pytest.raises(cupola.ArgumentTypeError, match=told):
            kernels.axpy[1](4, 2.0, given, x, x)
    with pytest.raises(cupola.ArgumentTypeError, match="the size of the launch, an int"):
        kernels.axpy[1]((4, 4), 2.0, x, x, x)
    with pytest.raises(cupola.ArgumentError, match="sizes"):
        kernels.axpy[1]({"shape": [4], "sizes": 4}, 2.0, x, x, x)
    with pytest.raises(cupola.ArgumentValueError, match=r"the block must be \(64, 1, 1\)"):
        kernels.softmax[(1,), 32]


def test_an_array_with_strides():
    x = cupola.to_device(numbers(1000, 2))
    out = cupola.zeros(1000, np.float32)
    kernels.axpy[4](1000, 2.0, x[:, 1], x[::-1, 0], out)
    host = x.get()
    assert np.allclose(out.get(), 2 * host[:, 1] + host[::-1, 0], atol=1e-6)


def test_a_prepared_launch():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.zeros(1000, np.float32)
    launch = kernels.axpy.prepare(4, None, 1000, 2.0, x, x, out)
    launch["y"] = y
    launch()
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)


def test_operations():
    x, y = numbers(1000), numbers(1000)
    for _ in range(3):  # later calls repeat what the first prepared
        assert np.allclose(ops.axpy(cupola.to_device(x), cupola.to_device(y), 2.0).get(), 2 * x + y)
    for rows in (7, 9):
        x = numbers(rows, 300)
        power = np.exp(x - x.max(axis=1, keepdims=True))
        expected = power / power.sum(axis=1, keepdims=True)
        assert np.allclose(ops.softmax(cupola.to_device(x)).get(), expected, atol=1e-6)


def test_no_compiler_is_imported():
    assert "warp" not in sys.modules
