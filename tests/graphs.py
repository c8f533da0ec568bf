"""Small arrays, kernels and a stream for tests of graphs."""

import images
import numpy as np
import pytest

import cupola


@pytest.fixture(autouse=True)
def everything_is_done(driver):
    yield
    cupola.Device().synchronize()


@pytest.fixture
def stream():
    return cupola.Stream(non_blocking=True)


def ints(*values):
    there = cupola.to_device(np.array(values, np.int32))
    cupola.Device().synchronize()
    return there


def kernel(name="increment"):
    return images.module()[name]
