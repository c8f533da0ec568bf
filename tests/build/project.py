# tests/build/project.py - a small package with kernels, and setuptools run on it.
import os
import subprocess
import sys

import hooks
import pytest

HEADER = """#pragma once
struct Line { float slope; int offset; };
__device__ float shared_one(float x);
"""
FIRST = """#include "line.cuh"
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
static __device__ __noinline__ float mine(float x) { return x + 1; }
template <typename T> __global__ void step(T* out, const T* x, int n) {
    extern __shared__ unsigned char memory[];
    T* there = reinterpret_cast<T*>(memory);
    const int i = threadIdx.x;
    there[i] = x[i];
    __syncthreads();
    if (i == 0) atomicAdd(&counter, 1);
    if (i < n) out[i] = shared_one(there[n - 1 - i]) + mine(2) + table[1];
}
template __global__ void step<float>(float*, const float*, int);
template __global__ void step<double>(double*, const double*, int);
"""
SECOND = """#include "line.cuh"
extern __constant__ float table[4];
extern __device__ int counter;
__device__ int* where = &counter;
static __device__ __noinline__ float mine(float x) { return x + 3; }
__device__ float shared_one(float x) { return mine(x) * table[2]; }
template <typename T> __global__ void same(T* out) { *out = sizeof(T); }
extern "C" __global__ void line(float* out, Line line) {
    out[threadIdx.x] = line.slope * threadIdx.x + line.offset + *where;
}
"""
PYPROJECT = """
[build-system]
requires = ["setuptools>=77", "cupola"]
build-backend = "setuptools.build_meta"
[project]
name = "slope"
version = "1.2"
[tool.setuptools]
packages = ["slope"]
"""
TABLE = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["csrc/*.cu"]
include = ["inc"]
options = ["-lineinfo"]
"""


class Project:
    """Its folder, and what was said when something was run there."""

    def __init__(self, folder, tables=TABLE):
        self.folder = folder / "project"
        for name in ("csrc", "inc", "slope"):
            (self.folder / name).mkdir(parents=True)
        self.write("slope/__init__.py", "")
        self.write("inc/line.cuh", HEADER)
        self.write("csrc/first.cu", FIRST)
        self.write("csrc/second.cu", SECOND)
        self.write("pyproject.toml", PYPROJECT + tables)
        self.write("setup.py", "from setuptools import setup\nsetup()\n")
        self.environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CACHE_DIR": "none"}
        self.environment.pop("CUPOLA_ARCHITECTURES", None)
        self.environment["PYTHONPATH"] = hooks.search_path(hooks.install(folder / "hooks"))

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def python(self, *arguments, fails=False):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if (done.returncode != 0) is not fails:
            pytest.fail(f"{arguments}:\n{done.stdout[-6000:]}", pytrace=False)
        return done.stdout

    def setup(self, *arguments, fails=False):
        return self.python("setup.py", *arguments, fails=fails)

    def built(self):
        return self.folder / "slope"


def compiled(output):
    """The sources which a build says that it compiled."""
    lines = [line for line in output.splitlines() if ": compile " in line]
    return [line.rpartition(" ")[2] for line in lines]
