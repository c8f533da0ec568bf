"""Kernels of the CuTe DSL for sm_100a, launched by the DSL's own host code on the CPU device.

The DSL makes machine code and the maps of tensors, and its runtime is linked with the CUDA runtime
of NVIDIA's driver. So that runtime is linked again, from the DSL's own archive, with cupola's CUDA
runtime, which gets the PTX of the same kernel.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiled_project import interpreter

import cupola

HERE = Path(__file__).parent
PACKAGE = Path(cupola.__file__).parent
FIND = "import nvidia_cutlass_dsl as dsl; print(*dsl.__path__)"

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks a device of another capability"
)


@pytest.fixture(scope="module")
def compiler():
    return interpreter("cute")


@pytest.fixture(scope="module")
def runtime(compiler, tmp_path_factory):
    """The DSL's runtime, linked with cupola's CUDA runtime."""
    folder = tmp_path_factory.mktemp("runtime")
    found = subprocess.run([compiler, "-c", FIND], capture_output=True, text=True, check=True)
    (archive,) = Path(found.stdout.strip()).glob("cu*/lib/libcuda_dialect_runtime_static.a")
    cuda = archive.parents[1].name.removeprefix("cu")
    subprocess.run(
        [
            "cc", "-shared", "-fPIC", "-o", folder / "libruntime.so", HERE / "given_ptx.c",
            "-Wl,--wrap=cudaLibraryLoadData", "-Wl,--whole-archive", archive,
            "-Wl,--no-whole-archive", PACKAGE / f"lib/cudart/libcudart.so.{cuda}", "-Wl,-z,defs",
        ],
        check=True,
    )  # fmt: skip
    return folder / "libruntime.so"


@pytest.mark.parametrize("which", ["rectified", "scaled"])
def test_products_are_those_of_numpy(which, compiler, runtime, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "cupola", "run", compiler, HERE / "cute_products.py", which],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(PACKAGE.parent),
            "CUPOLA_DRIVER": "cpu",
            "CUPOLA_CPU_COMPUTE_CAPABILITY": "10.0",
            "CUTE_DSL_LIBS": str(runtime),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and done.stdout.endswith("equal\n"), done.stdout
