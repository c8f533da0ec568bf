# tests/test_headers.py - the headers that a source may include, through each door.
"""One set of headers behind cupola.compile, cupola.load, SourceModule and the command."""

import os
from pathlib import Path

import numpy as np
import pytest
from command_line import cli
from pycuda_context import context  # noqa: F401

import cupola
from cupola.compiler import front_end
from cupola.pycuda import gpuarray
from cupola.pycuda.compiler import SourceModule

# The headers that cupola has for NVRTC, and what device code takes from each other header.
OWN = sorted(os.listdir(front_end.HEADERS))
USED = """
extern "C" __global__ void f(float* out, double* wide, std::uint64_t* bits) {
    assert(out);
    out[0] = std::sqrt(out[0]) + std::abs(-1.0f) + std::fmax(0.5f, FLT_MIN);
    wide[0] = std::pow(2.0, 3) + std::floor(M_PI);
    bits[0] = UINT64_MAX - INT32_MAX + sizeof(std::size_t) + CHAR_BIT;
    std::memset(bits + 1, 1, sizeof(int64_t));
    if (threadIdx.x == 9) std::printf("%d", int(std::numeric_limits<int>::max()));
}
"""
LIBRARIES = """
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cuda/std/complex>
#include <cuda_fp16.h>
#include <curand_kernel.h>
"""
KERNEL = """
extern "C" __global__ void f(float* out, unsigned long long seed) {
    using Reduce = cub::BlockReduce<float, 32>;
    __shared__ typename Reduce::TempStorage storage;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, threadIdx.x, 0, &state);
    float sum = Reduce(storage).Sum(curand_uniform(&state));
    auto block = cooperative_groups::this_thread_block();
    block.sync();
    cuda::std::complex<float> z(sum, 0);
    if (block.thread_rank() == 0) out[0] = cuda::std::abs(z);
}
"""


def included(names):
    return "".join(f"#include <{name}>\n" for name in names)


def by_compile(source, folder):
    return cupola.compile(source)


def by_load(source, folder):
    (folder / "source.cu").write_text(source)
    return cupola.load(folder / "source.cu")


def by_source_module(source, folder):
    return SourceModule(source, no_extern_c=True)


def by_command(source, folder):
    (folder / "source.cu").write_text(source)
    done = cli("compile", folder / "source.cu", "-o", folder / "source.ptx")
    assert done.returncode == 0, done.stderr
    return cupola.load(folder / "source.ptx")


DOORS = [by_compile, by_load, by_source_module, by_command]


@pytest.mark.parametrize("door", DOORS)
def test_headers_of_c(driver, tmp_path, door):
    """Before and after those of CCCL, which declare the same names for NVRTC."""
    own = included(OWN)
    cccl = included(["cuda/std/cstdint", "cuda/std/climits", "cuda/std/cfloat", "cuda/std/limits"])
    used = USED.replace("std::numeric_limits", "cuda::std::numeric_limits")
    for source in (own + cccl + used, cccl + own + used):
        module = door(source, tmp_path)
        assert "warning" not in getattr(module, "log", "")


def test_nan_and_infinity(driver):
    source = (
        '#include <cmath>\nextern "C" __global__ void f(float* x) { x[0] = NAN; x[1] = INFINITY; }'
    )
    out = cupola.zeros(2, np.float32)
    cupola.compile(source)["f"][1, 1](out)
    assert np.isnan(out.get()[0]) and np.isposinf(out.get()[1])


@pytest.mark.parametrize("more", ["", "#include <cuda/std/cmath>\n#include <cuda/std/complex>\n"])
def test_variables_of_headers_are_not_a_modules(driver, more):
    source = (
        more
        + included(OWN)
        + more
        + """
    namespace own { __device__ int inner; }
    namespace { __device__ int hidden; }
    __constant__ float __table[2];
    extern "C" __global__ void f(float* x) {
        static __device__ int times;
        x[0] = INFINITY + NAN + own::inner + __table[0] + ++hidden + ++times;
    }
    """
    )
    module = cupola.compile(source)
    assert "warning" not in module.log
    found = {name for name in module.globals if "hidden" not in name}
    assert found == {"_ZN3own5innerE", "__table", "_ZZ1fE5times"}
    assert len(list(module.globals)) == 4  # and that of the unnamed namespace


def test_values_of_the_headers_of_c(driver):
    module = cupola.compile(included([*OWN, "cuda/std/limits"]) + USED.replace(
        "std::numeric_limits", "cuda::std::numeric_limits"))  # fmt: skip
    out, wide = cupola.array(np.array([4], np.float32)), cupola.zeros(1)
    bits = cupola.zeros(2, np.uint64)
    module["f"][1, 1](out, wide, bits)
    assert (out.get()[0], wide.get()[0]) == (3.5, 11)
    assert bits.get().tolist() == [2**64 - 1 - (2**31 - 1) + 16, 0x0101010101010101]


@pytest.mark.parametrize("name", OWN)
def test_each_header_of_c_alone(driver, name):
    cupola.compile(f"#include <{name}>\n#include <{name}>\n__global__ void f() {{}}", cache=False)


def test_a_users_header_goes_before(driver, tmp_path):
    (tmp_path / "stdint.h").write_text("#define MINE 3\n")
    source = '#include <stdint.h>\nextern "C" __global__ void f(int* out) { *out = MINE; }'
    out = cupola.zeros((), np.int32)
    cupola.compile(source, include=[tmp_path])["f"][1, 1](out)
    assert out.get() == 3


@pytest.mark.parametrize("door", DOORS)
def test_libraries(driver, tmp_path, door):
    module = door("#include <math.h>\n" + LIBRARIES + KERNEL, tmp_path)
    assert "redefinition" not in getattr(module, "log", "")


@pytest.mark.parametrize(
    "head",
    [
        "#include <cuda/std/array>\n",
        "// a comment\n\n#define N 2\n/* another\n one */\n#include <cuda/std/array>\n",
        "#include <stdint.h>\n#define MORE \\\n 5\n #  include <cuda/std/array> // last\n\n",
        "",
    ],
)
def test_libraries_before_extern_c(driver, head):
    """SourceModule puts the source into extern "C", which templates do not allow."""
    source = f"{head}__global__ void f(int* out) {{ *out = __LINE__; }}"
    out = gpuarray.zeros(1, np.int32)
    SourceModule(source).get_function("f")(out, block=(1, 1, 1))
    assert out.get()[0] == head.count("\n") + 1


def test_the_headers_are_in_the_package():
    assert {"stdint.h", "math.h", "cmath", "cstdint", "cstdio"} <= set(OWN)
    for name in OWN:
        first = (Path(front_end.HEADERS) / name).read_text().splitlines()[0]
        assert first.startswith(f"// cupola/compiler/include/{name} - ")


def test_the_text_of_a_header_is_a_str(driver):
    code = b"__device__ int two() { return 2; }"
    source = '#include "two.h"\nextern "C" __global__ void f(int* x) { x[0] = two(); }'
    with pytest.raises(cupola.ArgumentTypeError, match=r"a bytes for 'two.h'; pass str") as error:
        cupola.compile(source, headers={"two.h": code})
    assert "decode()" in str(error.value)
    assert "f" in cupola.compile(source, headers={"two.h": code.decode()})
    with pytest.raises(cupola.ArgumentValueError, match="NUL"):
        cupola.compile(source, headers={"two.h": "\0"})
