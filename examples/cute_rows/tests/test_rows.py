# examples/cute_rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def tensor(given):
    """An array as kernels of the CuTe DSL take it."""
    shape = {f"shape_{axis}": size for axis, size in enumerate(given.shape)}
    steps = {f"step_{axis}": given.shape[1] for axis in range(given.ndim - 1)}
    return {"data": given.address, **shape, **steps}


def test_a_vector():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.empty(1000, np.float32)
    kernels.axpy[8](2.0, tensor(x), tensor(y), out=tensor(out))
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)


def test_softmax():
    x = numbers(33, 700)
    given, out = cupola.to_device(x), cupola.empty((33, 700), np.float32)
    kernels.softmax[33](tensor(out), tensor(given))
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(out.get(), power / power.sum(axis=1, keepdims=True), atol=1e-6)


def test_parameters_are_named_and_checked():
    assert [one.name for one in kernels.axpy.params] == ["a", "x", "y", "out"]
    assert kernels.axpy.params[1].type == "cute::Tensor<float32>"
    with pytest.raises(cupola.ArgumentError, match="shape_1"):
        kernels.axpy[1](2.0, {"data": 0, "shape_1": 1}, None, None)
    with pytest.raises(cupola.ArgumentValueError, match=r"the block must be \(128, 1, 1\)"):
        kernels.softmax[(1,), 32]


def test_no_compiler_is_imported():
    assert "cutlass" not in sys.modules
