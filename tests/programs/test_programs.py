"""Programs of others, unchanged, on the CPU device: an environment of their own from PyPI.

It lies in build/programs, made when it is first needed and whenever the list below changes.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import images
import pytest
from environments import pip, python_with

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Numba's newest asks for no limit, and fails with NumPy 2.5.
PACKAGES = ("cuda-bindings==13.*", "cuda-core==1.*", "numba-cuda[cu13]==0.30.*", "numpy<2.5")

pytestmark = pytest.mark.cpu_only(reason="programs of others are tested on the CPU device")


@pytest.fixture(scope="module")
def python():
    """The environment's interpreter."""
    return python_with("programs", *PACKAGES)


def run(python, *program, **variables):
    """The output of `python -m cupola run --cpu`; the program must succeed."""
    done = subprocess.run(
        [python, "-m", "cupola", "run", "--cpu", *program],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "package"), **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_a_script_that_binds_the_first_names():
    output = run(sys.executable, "first_names.py")
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


@pytest.mark.parametrize(
    "program",
    [
        "bindings.py",
        "bindings_cubin.py",
        "core.py",
        "core_cubin.py",
        "numba_kernels.py",
    ],
)
def test_programs(python, program):
    output = run(python, program)
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library with a kernel and its host launcher, built by nvcc's defaults."""
    nvcc, target = Path(images.nvcc().nvcc), tmp_path_factory.mktemp("library") / "library.so"
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-DSTART=0", "-o", target]
    path = f"{nvcc.parent}{os.pathsep}{os.environ['PATH']}"
    source = HERE.parent / "cudart" / "library.cu"
    run(sys.executable, "--", *command, source, PATH=path)
    return target


def test_a_library_beside_bindings(python, library):
    output = run(python, "beside_runtime.py", library, "bindings")
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


# PyCUDA is published as source alone. This compiler does not optimise, and precompiles the header
# that nearly all sources include: the build takes 45 s of processor time instead of minutes.
COMPILER = """#!/bin/sh
first=$(dirname "$0")/first.hpp flags=
for word; do [ "$word" = -c ] && break; flags="$flags $word"; done
case "$flags" in *" -Dboost="*) [ -e "$first.gch" ] ||
    g++ $flags -O0 -g0 -w -x c++-header "$first" -o "$first.gch" ;; esac
exec g++ "$@" -O0 -g0 -w -include "$first"
"""
FIRST = """#ifdef boost
#include <boost/python.hpp>
#endif
"""
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4


@pytest.fixture(scope="module")
def pycuda(python):
    """The environment's interpreter, which has PyCUDA; and the toolkit it was built with."""
    toolkit = Path(images.nvcc().nvcc).resolve().parents[1]
    if not any(toolkit.rglob("stubs/libcuda.so")):
        pytest.skip("PyCUDA links libcuda.so and libcudart.so, which NVIDIA's wheels do not have")
    source = python.parents[1] / "pycuda"
    if not (source / "installed").exists():
        shutil.rmtree(source, ignore_errors=True)
        pip(python, "install", "setuptools", "wheel")
        sdist = "--no-deps", "--no-build-isolation", "--no-binary=:all:"
        pip(python, "download", *sdist, "--dest", source, "pycuda==2026.*")
        [packed] = source.glob("*.tar.gz")
        with tarfile.open(packed) as archive:
            archive.extractall(source, **SAFELY)
        tree = packed.with_name(packed.name.removesuffix(".tar.gz"))
        (tree / "siteconf.py").write_text(
            f"CUDA_ROOT, CUDA_ENABLE_CURAND = {os.fspath(toolkit)!r}, False"
        )
        (source / "first.hpp").write_text(FIRST)
        compiler = source / "compiler"
        compiler.write_text(COMPILER)
        compiler.chmod(0o700)
        build = {"CC": os.fspath(compiler), "CXX": os.fspath(compiler)}
        pip(python, "install", "--no-build-isolation", tree, **build)
        (source / "installed").touch()
    return python, toolkit


def test_pycuda(pycuda):
    python, toolkit = pycuda
    path = f"{toolkit / 'bin'}{os.pathsep}{os.environ['PATH']}"
    output = run(python, "pycuda_kernels.py", CUDA_ROOT=os.fspath(toolkit), PATH=path)
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


def test_a_library_beside_pycuda(pycuda, library):
    python, _ = pycuda
    output = run(python, "beside_runtime.py", library, "pycuda")
    assert output.startswith("cupola CPU device") and output.endswith("well\n")
