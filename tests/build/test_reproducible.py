# tests/build/test_reproducible.py - two builds of one tree, in two folders, give the same bytes.
import zipfile

import pytest
from project import FIRST, SECOND, TABLE, Project

pytestmark = pytest.mark.campaign("builds of packages")

# nvcc makes these names from the path of the source, or from its process number if the source
# exports nothing.
HIDDEN = """
namespace {
struct Key { int x; };
__device__ int counter;
static __device__ __noinline__ int next(int x) { return x + counter; }
__global__ void quiet(Key key, int* p) { *p = next(key.x); }
void* kept = (void*)quiet;
}
static __global__ void alone(int* p) { static __device__ int times; *p = ++times; }
namespace { void* also = (void*)alone; }
"""
HOST = """
namespace { __global__ void set(int* p, const char* s) { *p = s[0]; } }
extern "C" const char* built() { set<<<1, 1>>>(nullptr, nullptr); return __DATE__ __TIME__; }
"""
TABLES = (
    TABLE.replace('options = ["-lineinfo"]\n', "")
    + """
[[tool.cupola.kernels]]
library = "slope.hidden"
sources = ["hidden/*.cu"]
relocatable = false

[[tool.cupola.libraries]]
library = "slope.host"
sources = ["host/*.cu"]

[[tool.cupola.makers]]
name = "slope.axpy"
kind = "elementwise"
parameters = "T a, const T* x, T* out"
body = "out[i] = a * x[i]"
types = ["float32"]

[[tool.cupola.ops]]
name = "slope.line"
kernels = "copy"
library = "slope.kernels"
inputs = { x = "float32[n]" }
outputs = { out = "float32[n]" }
arguments = ["out", "x", "n"]
grid = ["n"]
block = [1]

[[tool.setuptools.ext-modules]]
name = "slope.fast"
sources = ["slope/fast.pyx"]
"""
)
COPY = """
__global__ void copy(float* out, const float* x, int n) {
    if (blockIdx.x < n) out[blockIdx.x] = x[blockIdx.x];
}
"""


def wheel_of(folder):
    project = Project(folder, TABLES)
    for name in ("hidden", "host"):
        (project.folder / name).mkdir()
    project.write("csrc/first.cu", FIRST + HIDDEN)
    project.write("csrc/second.cu", SECOND + COPY)
    project.write("hidden/one.cu", HIDDEN)
    project.write("hidden/two.cu", HIDDEN.replace("Key", "Lock").replace("quiet", "silent")
                  .replace("next", "last").replace("counter", "total").replace("kept", "held")
                  .replace("alone", "lonely").replace("also", "too"))  # fmt: skip
    project.write("host/launch.cu", HOST)
    project.write("slope/fast.pyx", "def twice(double x): return 2 * x\n")
    project.environment["CUPOLA_ARCHITECTURES"] = "80,cpu"
    project.setup("--quiet", "bdist_wheel")
    (made,) = (project.folder / "dist").iterdir()
    return made


def test_two_builds_in_two_folders_have_the_same_bytes(tmp_path):
    one, two = (wheel_of(tmp_path / name) for name in ("one", "another-one"))
    first, second = zipfile.ZipFile(one), zipfile.ZipFile(two)
    names = first.namelist()
    kinds = {name.partition(".")[2] for name in names}
    assert {"fatbin", "json", "x86-64-v3.so", "so", "op", "pyi"} <= kinds, names
    assert "slope/makers.fatbin" in names and "slope/hidden.fatbin" in names
    assert names == second.namelist()
    assert [name for name in names if first.read(name) != second.read(name)] == []
    assert one.name == two.name and one.read_bytes() == two.read_bytes()
