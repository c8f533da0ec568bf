"""A fixture for tests of cupola.pycuda: a context of its own, and NVRTC."""

import images
import pytest

from cupola.pycuda.tools import init_cuda_context_fixture


@pytest.fixture(autouse=True)
def context():
    images.nvrtc()
    yield from init_cuda_context_fixture()
