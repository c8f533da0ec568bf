# examples/cute_rows/tests/test_rows.py
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
    kernels.axpy[8](2.0, x, y, out=out)
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)


def test_softmax():
    x = numbers(33, 700)
    given, out = cupola.to_device(x), cupola.empty((33, 700), np.float32)
    kernels.softmax[33](out, given)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(out.get(), power / power.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_part_of_a_matrix():
    x = cupola.to_device(numbers(4, 100))
    out = cupola.zeros((4, 100), np.float32)
    kernels.softmax[4](out[:, :50], x[:, 50:])
    power = np.exp(x.get()[:, 50:])
    expected = power / power.sum(axis=1, keepdims=True)
    assert np.allclose(out.get()[:, :50], expected, atol=1e-6) and not out.get()[:, 50:].any()


def test_parameters_are_named_and_checked():
    assert [one.name for one in kernels.axpy.params] == ["a", "x", "y", "out"]
    assert kernels.axpy.params[1].type == "cute::Tensor<float32>"
    x = cupola.zeros((4, 4), np.float32)
    with pytest.raises(cupola.ArgumentTypeError, match="one of 2 axes"):
        kernels.axpy[1](2.0, x, x, x)
    with pytest.raises(cupola.ArgumentValueError, match="the stride of 16 bytes of axis 1"):
        kernels.softmax[4](x.T, x)
    with pytest.raises(cupola.ArgumentError, match="shape_1"):
        kernels.axpy[1](2.0, {"data": 0, "shape_1": 1}, x[0], x[0])
    with pytest.raises(cupola.ArgumentValueError, match=r"the block must be \(128, 1, 1\)"):
        kernels.softmax[(1,), 32]


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
    assert "cutlass" not in sys.modules
