"""The kernels of pipeline.cu, and random numbers, for tests of pipelines."""

from pathlib import Path

import images
import numpy as np
import pytest

import cupola

SOURCE = Path(__file__).with_name("pipeline.cu")


@pytest.fixture(scope="module")
def module(driver):
    return cupola.load(images.compiled("pipeline.ptx", SOURCE, "-ptx", "-arch=compute_75"))


@pytest.fixture
def add(module):
    return module["add"]


def numbers(*shape, dtype=np.int32):
    return np.random.default_rng(5).integers(-1000, 1000, shape).astype(dtype)
