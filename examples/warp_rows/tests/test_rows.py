# examples/warp_rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def bounds(*shape):
    """The size of a launch, as Warp's kernels take it."""
    return {"shape": shape, "size": int(np.prod(shape)), "coord_mult": 1}


def array(given):
    """An array as Warp's kernels take it."""
    rest = [0] * (4 - given.ndim)
    strides = [given.itemsize * int(np.prod(given.shape[i + 1 :])) for i in range(given.ndim)]
    return {
        "data": given.address,
        "grad": 0,
        "shape": [*given.shape, *rest],
        "strides": [*strides, *rest],
        "ndim": given.ndim,
        "flags": 0,
    }


def test_a_vector():
    x, y = map(cupola.to_device, numbers(2, 1000))
    out = cupola.empty(1000, np.float32)
    kernels.axpy[4](bounds(1000), 2.0, array(x), array(y), out=array(out))
    assert np.allclose(out.get(), 2 * x.get() + y.get(), atol=1e-6)


def test_softmax():
    x = numbers(100, 30)
    given, out = cupola.to_device(x), cupola.empty((100, 30), np.float32)
    kernels.softmax[2](bounds(100), array(given), array(out))
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(out.get(), power / power.sum(axis=1, keepdims=True), atol=1e-6)


def test_parameters_are_named_and_checked():
    assert [one.name for one in kernels.axpy.params] == ["dim", "a", "x", "y", "out"]
    assert kernels.axpy.params[2].type == "wp::array_t<float32>"
    x = cupola.zeros(4, np.float32)
    with pytest.raises(cupola.ArgumentError, match="x"):
        kernels.axpy[1](bounds(4), 2.0, x, x, x)
    with pytest.raises(cupola.ArgumentError, match="sizes"):
        kernels.axpy[1]({"shape": [4], "sizes": 4}, 2.0, array(x), array(x), array(x))
    with pytest.raises(cupola.ArgumentValueError, match=r"the block must be \(64, 1, 1\)"):
        kernels.softmax[(1,), 32]


def test_no_compiler_is_imported():
    assert "warp" not in sys.modules
