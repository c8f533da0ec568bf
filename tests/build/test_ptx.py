"""PTX of many kernels is cut into texts of one each, which load and run."""

import subprocess

import numpy as np
import pytest

import cupola
from cupola.build import ptx, toolkit
from cupola.build.error import BuildError

SOURCE = """
__device__ float table[4] = {1, 2, 3, 4};
__constant__ float factor = 3;
__device__ __noinline__ float helped(float x) { return x * factor; }
__device__ __noinline__ float helper(float x) { return helped(x) + 1; }
extern "C" __global__ void plain(float* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void calling(float* x) { x[threadIdx.x] = helper(x[threadIdx.x]); }
extern "C" __global__ void reading(float* x) { x[threadIdx.x] = table[threadIdx.x]; }
extern "C" __global__ void reducing(float* x) { x[threadIdx.x] = sinf(x[threadIdx.x] * 1e6f); }
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ptx")
    (folder / "many.cu").write_text(SOURCE)
    command = [toolkit.find().nvcc, "-ptx", "-arch=compute_75", "-o", "many.ptx", "many.cu"]
    subprocess.run(command, cwd=folder, check=True)
    return ptx.cut((folder / "many.ptx").read_text())


def test_each_text_has_its_kernel_and_what_that_refers_to(texts):
    assert set(texts) == {"plain", "calling", "reading", "reducing"}
    for name, text in texts.items():
        assert text.count(".entry") == 1
        assert text.startswith(".version")
        assert ("table" in text) == (name == "reading")
        assert ("helped" in text) == (name == "calling")
        assert ("factor" in text) == (name == "calling")


def test_each_text_loads_and_runs(driver, texts):
    x = np.array([1, 2, 3, 4], np.float32)
    wanted = {
        "plain": x + 1,
        "calling": x * 3 + 1,
        "reading": np.array([1, 2, 3, 4], np.float32),
        "reducing": np.sin(x * np.float32(1e6)),
    }
    for name, text in texts.items():
        there = cupola.to_device(x)
        cupola.load(text.encode())[name][1, 4](there)
        np.testing.assert_allclose(there.get(), wanted[name], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (".version 8.0\n.target sm_75\n", "without a kernel"),
        (".version 8.0\n.visible .entry k() {\n", "amid something"),
        (".version 8.0\n.unheard of;\n.visible .entry k() { ret; }", "unknown"),
    ],
)
def test_what_is_no_such_text_is_refused(text, says):
    with pytest.raises(BuildError, match=says):
        ptx.cut(text)
