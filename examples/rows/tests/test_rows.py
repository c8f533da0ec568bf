# examples/rows/tests/test_rows.py
import sys

import numpy as np
import pytest
from rows import kernels, ops

import cupola


def numbers(*shape):
    return np.random.default_rng(5).standard_normal(shape, np.float32)


def softmax(x):
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def test_a_launch_names_the_grid():
    x, y = numbers(5000), numbers(5000)
    out = cupola.empty(5000, np.float32)
    kernels.axpy[5](2.0, cupola.to_device(x), cupola.to_device(y), out=out, n=5000)
    assert np.allclose(out.get(), 2 * x + y, atol=1e-6)


def test_another_block_is_refused():
    with pytest.raises(cupola.ArgumentValueError, match=r"axpy: the block must be \(128, 1, 1\)"):
        kernels.axpy.launch(5, 64, 2.0, None, None, None, 0)


def test_an_array_without_the_alignment_is_refused():
    x = cupola.zeros(5000, np.float32)
    with pytest.raises(cupola.ArgumentValueError, match="no multiple of 16"):
        kernels.axpy[1](2.0, x[1:], x, x, 100)


def test_the_operation():
    x = numbers(7, 700)
    assert np.allclose(ops.softmax(cupola.to_device(x)).get(), softmax(x), atol=1e-6)
    with pytest.raises(cupola.ArgumentError, match="columns <= 1024"):
        ops.softmax(cupola.zeros((1, 1025), np.float32))


def test_no_compiler_is_imported():
    assert not {"triton", "torch"} & set(sys.modules)
