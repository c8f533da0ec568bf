# tests/build/test_host_library.py - .cu files with host launchers, for ctypes and for Cython.
import json
import os
import zipfile

import pytest
from project import Project

pytestmark = pytest.mark.campaign("builds of packages")

SQUARE = """
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#include "scale.cuh"
__global__ void square(int* x) { x[threadIdx.x] *= SCALE * x[threadIdx.x]; }
extern "C" int square_all(int* numbers, int count) {
    std::vector<int> copy(numbers, numbers + count);
    int* there;
    if (cudaError_t error = cudaMalloc(&there, count * sizeof(int))) return error;
    cudaMemcpy(there, copy.data(), count * sizeof(int), cudaMemcpyHostToDevice);
    square<<<1, count>>>(there);
    cudaMemcpy(numbers, there, count * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(there);
    return cudaGetLastError();
}
"""
ADD = """
__global__ void add(float* x, float value) { x[threadIdx.x] += value; }
extern "C" int add_to(float* x, int count, float value) {
    add<<<1, count>>>(x, value);
    return cudaDeviceSynchronize();
}
"""
PYX = """
# cython: language_level=3
cdef extern from *:
    \"\"\"
    extern "C" int square_all(int* numbers, int count);
    \"\"\"
    int square_all(int* numbers, int count) nogil


def squares(int[::1] numbers):
    cdef int status
    with nogil:
        status = square_all(&numbers[0], <int>numbers.shape[0])
    return status
"""
TABLES = """
[[tool.setuptools.ext-modules]]
name = "slope.inner.fast"
sources = ["slope/inner/fast.pyx"]
libraries = ["native"]
language = "c++"

[[tool.cupola.libraries]]
library = "slope.native"
sources = ["csrc/*.cu"]
include = ["inc"]
"""
USE = """
import ctypes, json
import numpy as np, cupola
from slope import native
from slope.inner import fast
numbers = (ctypes.c_int * 4)(1, 2, 3, 4)
told = [native.library.square_all(numbers, 4), list(numbers)]
array = np.array([3, 5], np.int32)
told += [fast.squares(array), array.tolist()]
x = cupola.to_device(np.arange(3, dtype=np.float32))
pointer = ctypes.c_void_p(x.__cuda_array_interface__["data"][0])
told += [native.library.add_to(pointer, 3, ctypes.c_float(0.5)), x.get().tolist()]
print(json.dumps([*told, cupola.driver.info().kind]))
"""
RESULT = [0, [2, 8, 18, 32], 0, [18, 50], 0, [0.5, 1.5, 2.5]]


@pytest.fixture
def project(driver, tmp_path):
    made = Project(tmp_path, TABLES)
    made.environment |= {"CUPOLA_DRIVER": driver, "CUPOLA_ARCHITECTURES": "native"}
    (made.folder / "slope/inner").mkdir()
    made.write("slope/inner/__init__.py", "")
    made.write("slope/inner/fast.pyx", PYX)
    made.write("inc/scale.cuh", "#define SCALE 2\n")
    made.write("csrc/first.cu", SQUARE)
    made.write("csrc/second.cu", ADD)
    packages = made.folder / "pyproject.toml"
    packages.write_text(packages.read_text().replace('["slope"]', '["slope", "slope.inner"]'))
    return made


def used(project):
    *found, kind = json.loads(project.python("-c", USE).splitlines()[-1])
    assert found == RESULT
    return kind


def test_in_place_for_ctypes_and_for_an_extension_module(project, driver):
    pytest.importorskip("Cython")
    project.setup("build_ext", "--inplace")
    names = {path.name for path in project.built().iterdir()}
    assert {"native.py", "libnative.so"} <= names
    assert used(project) == driver
    again = project.setup("build_ext", "--inplace")
    assert ": compile " not in again
    project.write("inc/scale.cuh", "#define SCALE 2  // changed\n")
    assert project.setup("build_kernels", "--inplace").count(": compile ") == 1


def test_a_wheel_is_of_a_platform(project):
    pytest.importorskip("Cython")
    project.setup("--quiet", "bdist_wheel")
    (wheel,) = (project.folder / "dist").iterdir()
    assert "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        assert {"slope/native.py", "slope/libnative.so"} <= set(archive.namelist())
        archive.extractall(project.folder.parent / "site")
    for name in ("slope", "build"):
        (project.folder / name).rename(project.folder / f"{name}.gone")
    site = project.folder.parent / "site"
    project.environment["PYTHONPATH"] = f"{site}{os.pathsep}{project.environment['PYTHONPATH']}"
    used(project)


def test_what_is_wrong_is_told(project):
    text = (project.folder / "pyproject.toml").read_text()
    for change, says in (
        (('sources = ["csrc/*.cu"]', 'source = ["a"]'), "[[tool.cupola.libraries]] has an unknown"),
        (('"slope.native"', '"slope.class"'), "class is a keyword of Python"),
        (("[[tool.cupola.libraries]]", "[tool.cupola.libraries]"), "[[tool.cupola.libraries]]"),
    ):
        project.write("pyproject.toml", text.replace(*change))
        output = project.setup("build", fails=True)
        assert says in output and "Traceback" not in output
    project.write("pyproject.toml", text)
    project.write("csrc/second.cu", 'int missing();\nextern "C" int f() { return missing(); }\n')
    output = project.setup("build_kernels", fails=True)
    assert "missing" in output and "Traceback" not in output


def test_a_library_that_is_not_there_is_named(project):
    project.write("csrc/second.cu", "")
    project.setup("build_kernels", "--inplace")
    (project.built() / "libnative.so").unlink()
    output = project.python("-c", "from slope import native", fails=True)
    assert "libnative.so: slope was installed without it" in output
