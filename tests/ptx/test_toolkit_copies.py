"""The toolkit's own barriers, pipelines and asynchronous copies, as nvcc compiles them."""

import pathlib
from ctypes import c_int

import images
import numpy as np
import pytest

SOURCE = pathlib.Path(__file__).with_name("toolkit") / "copies.cu"


@pytest.fixture(scope="module", params=[80, 90])
def architecture(request):
    return request.param


@pytest.fixture
def module(architecture, load):
    text = images.compiled(
        f"copies.{architecture}.ptx",
        SOURCE,
        "-ptx",
        f"-arch=compute_{architecture}",
        "-diag-suppress=20054",
    )
    return load(text.read_text())


@pytest.mark.parametrize("block", [32, 100, 256])
def test_phases(block, module):
    out = np.zeros((3, block), np.int32)
    module.run("phases", 3, block, [out, c_int(7)])
    expected = np.arange(block, dtype=np.int32)
    for _ in range(7):
        expected = expected + np.roll(expected, -1)
    assert (out == expected).all()


@pytest.mark.parametrize("block", [31, 96])
def test_dropping(block, module):
    out = np.zeros(block + 1, np.int32)
    out[0] = -1
    module.run("dropping", 1, block, [out])
    assert list(out[:-1]) == list(range(-1, block - 1))
    assert out[-1] == block * (block - 1) // 2


@pytest.mark.parametrize("name", ["by_barrier", "by_group", "by_pipeline", "halves"])
@pytest.mark.parametrize("size", [32, 128])
def test_tiles(name, size, module):
    tiles = 9
    a = np.random.default_rng(size).integers(-(2**20), 2**20, (tiles, size), np.int32)
    block = 2 * size if name == "halves" else size
    out = np.zeros(block, np.int32)
    kernel = "by_pipeline" if name == "halves" else name
    more = [c_int(int(name == "halves"))] if kernel == "by_pipeline" else []
    module.run(kernel, 1, block, [a, out, c_int(tiles), *more], shared=3 * size * 4)
    expected = (a[:, ::-1] * np.arange(1, tiles + 1, dtype=np.int32)[:, None]).sum(0)
    assert (out[-size:] == expected).all()


def test_a_thread_of_its_own(module):
    tiles, size = 5, 64
    a = np.random.default_rng(1).integers(0, 2**20, (tiles, size, 4), np.int32)
    out = np.zeros((size, 4), np.int32)
    module.run("by_thread", 1, size, [a, out, c_int(tiles)], shared=size * 16)
    expected = a.sum(0)
    expected[:, 0] += a[:, :, 0].sum(0)  # the last 12 bytes of the second copy are zeros
    assert (out == expected).all()


@pytest.mark.parametrize("size", [4, 512, 4096])
@pytest.mark.parametrize("architecture", [90], indirect=True)
def test_bulk(size, module, architecture):
    a = np.arange(3 * size, dtype=np.int32)
    out = np.zeros_like(a)
    module.run("by_bulk", 3, 96, [a, out, c_int(size)], shared=size * 4)
    assert (out == 2 * a + 1).all()
