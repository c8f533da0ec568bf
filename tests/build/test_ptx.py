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


JOINED = {
    "first": """#include <cstdio>
extern __device__ float shared_one(float x);
extern __device__ int late;
__device__ int* where = &late;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ __noinline__ float mine(float x) { return x + 1; }
extern __shared__ char memory[];
template <typename T> __device__ __noinline__ T both(T x) { return x + x; }
extern "C" __global__ void first(float* x) {
    memory[threadIdx.x] = 1;
    if (*x < 0) printf("less than none: %f\\n", *x);
    *x = shared_one(*x) + mine(*x) + *where + memory[0] + both(*x);
}""",
    "second": """#include <cstdio>
extern __constant__ float table[4];
__device__ int late = 7;
typedef float (*function)(float);
static __device__ __noinline__ float mine(float x) { return x * 3; }
__device__ float shared_one(float x) { return mine(x) + table[3]; }
__device__ function pick = shared_one;
extern __shared__ double memory[];
template <typename T> __device__ __noinline__ T both(T x) { return x + x; }
extern "C" __global__ void second(float* x) {
    memory[threadIdx.x] = 2;
    if (*x < 0) printf("this is less, too: %f\\n", *x);
    *x = pick(*x) + both(*x) + float(memory[0]);
}""",
}


def compiled_alone(folder, sources, *options):
    """PTX of each source by its name."""
    nvcc = toolkit.find().nvcc
    for name, source in sources.items():
        (folder / f"{name}.cu").write_text(source)
        command = [nvcc, "-rdc=true", "-ptx", "-arch=compute_75", *options, f"{name}.cu"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return {name: (folder / f"{name}.ptx").read_text() for name in sources}


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
@pytest.mark.parametrize("options", [(), ("-lineinfo",)])
def test_texts_of_several_sources_are_one(driver, tmp_path, order, options):
    made = compiled_alone(tmp_path, JOINED, *options)
    text = ptx.join({name: made[name] for name in order})
    assert text.count(".version") == 1 and ".align 8 .b8 memory[]" in text
    (tmp_path / "joined.ptx").write_text(text)
    ptxas = [toolkit.find().tool("ptxas"), "-arch=sm_75", "-o", "joined.cubin", "joined.ptx"]
    done = subprocess.run(ptxas, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    module = cupola.load(text.encode())
    for name, wanted in (("first", 5 * 3 + 4 + 6 + 7 + 1 + 10), ("second", 15 + 4 + 10 + 2)):
        x = cupola.to_device(np.array([5], np.float32))
        module[name][1, 1, None, 8](x)
        assert x.get() == wanted


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (HEAD + ".visible .global .u32 x = 2;\n", "x is defined in a and in b"),
        (HEAD.replace("75", "80"), "different targets"),
        (HEAD + ".entry x() { ret; }\n", "another source has a kernel x"),
        (HEAD + ".func f() { ret; }\n.func g();\n.alias g, f;\n", "by its own name, or compile"),
    ],
)
def test_texts_that_do_not_go_together(second, says):
    with pytest.raises(BuildError, match=says):
        ptx.join({"a": HEAD + ".visible .global .u32 x = 1;\n", "b": second})


WIDE = """#pragma once
#include <cassert>
#include <cstdio>
template <typename T> __global__ void both(T* x, int n) {
    __shared__ T memory[32];
    assert(n == 32);
    memory[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = memory[n - 1 - threadIdx.x];
}
struct Base { __device__ virtual int get() const { return 1; } };
struct Derived : Base {
    int kept;
    __device__ int get() const override { return kept; }
};
__device__ inline constexpr int values[4] = {1, 2, 3, 4};
__device__ inline float table_at(int i) {
    static const float table[5] = {1, 2, 3, 4, 5};
    return table[i % 5];
}
"""
WIDE_SOURCES = {
    "first": """#include "wide.cuh"
template __global__ void both<float>(float*, int);
__device__ __managed__ int managed = 3;
__device__ int pick(int kind, int x) {
    switch (kind) {
    case 0: return x * 3;
    case 1: return x + 7;
    case 2: return x ^ 5;
    case 3: return __popc(x);
    case 4: return x / 3;
    default: return 0;
    }
}
extern "C" __global__ void first(int* x) {
    printf("%d %s\\n", x[0], "text; with } braces {");
    x[threadIdx.x] = pick(0, 9) + managed + int(table_at(0)) + values[threadIdx.x];
}""",
    "second": """#include "wide.cuh"
template __global__ void both<float>(float*, int);
template __global__ void both<int>(int*, int);
extern __device__ __managed__ int managed;
__device__ int pick(int, int);
__device__ __noinline__ int ask(const Base& one) { return one.get(); }
extern "C" __global__ void second(int* x) {
    Derived one;
    one.kept = pick(2, x[0]);
    printf("%d %s\\n", x[0], "other; // no comment");
    int* room = new int[2];
    room[0] = ask(one) + managed + int(table_at(22));
    x[threadIdx.x] = room[0];
    delete[] room;
}""",
}


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_whatever_sources_share(driver, tmp_path, order, capfd):
    """Templates, tables, virtual functions, managed memory, texts to print with any mark."""
    (tmp_path / "wide.cuh").write_text(WIDE)
    made = compiled_alone(tmp_path, WIDE_SOURCES, "-std=c++17")
    text = ptx.join({name: made[name] for name in order})
    (tmp_path / "joined.ptx").write_text(text)
    ptxas = [toolkit.find().tool("ptxas"), "-arch=sm_75", "-o", "joined.cubin", "joined.ptx"]
    done = subprocess.run(ptxas, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    module = cupola.load(text.encode())
    assert len(module) == 4
    x = cupola.to_device(np.zeros(4, np.int32))
    module["first"][1, 4](x)
    assert x.get().tolist() == [32, 33, 34, 35]
    module["second"][1, 1](x)
    assert x.get().tolist() == [(32 ^ 5) + 3 + 3, 33, 34, 35]
    y = np.arange(32, dtype=np.float32)
    there = cupola.to_device(y)
    module["both<float>"][1, 32](there, 32)
    assert np.array_equal(there.get(), y[::-1])
    cupola.Device().synchronize()
    if driver == "cpu":  # NVIDIA's driver leaves it in C's buffer
        assert "text; with } braces {" in capfd.readouterr().out
