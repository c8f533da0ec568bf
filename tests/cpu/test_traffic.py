"""Counted accesses: sectors of global memory, wavefronts of shared memory, footprints."""

import ctypes
import os

import images
import numpy as np
import pytest

import cupola
from cupola import paths

pytestmark = pytest.mark.cpu_only("NVIDIA's driver counts nothing")

SOURCE = """
extern "C" __global__ void global(const char* x, char* y, int step, int first) {
    const int i = threadIdx.x * step + first;
    *(int*)(y + 4 * threadIdx.x) = *(const int*)(x + 4 * i);
}
extern "C" __global__ void wide(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void bytes(const char* x, char* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void add(int* x) { atomicAdd(x + threadIdx.x / 8, 1); }
extern "C" __global__ void shared(int* y, int step) {
    __shared__ int tile[33 * 32];
    for (int i = threadIdx.x; i < 33 * 32; i += 32) tile[i] = i;
    y[threadIdx.x] = tile[threadIdx.x * step];
}
extern "C" __global__ void pairs(double* y, int step) {
    __shared__ double tile[32 * 4];
    for (int i = threadIdx.x; i < 128; i += 32) tile[i] = i;
    y[threadIdx.x] = tile[threadIdx.x * step];
}
extern "C" __global__ void copied(const int* x, int* y) {
    __shared__ __align__(16) int tile[32];
    unsigned to = __cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void local(int* y, int n) {
    int own[64];
    for (int i = 0; i < 64; i++) own[i * n % 64] = i;
    y[threadIdx.x] = own[n];
}
"""


@pytest.fixture(scope="module")
def module(driver):
    images.nvrtc()
    return cupola.compile(SOURCE)


@pytest.fixture(scope="module")
def library():
    found = ctypes.CDLL(os.fspath(paths.cpu_driver()))
    found.cupola_cpu_take_traffic.restype = ctypes.c_char_p
    yield found
    found.cupola_cpu_count_traffic(0)


@pytest.fixture
def counted(module, library):
    """A function that launches a kernel, and returns its accesses and its footprint."""

    def launch(name, *arguments, grid=1, block=32):
        library.cupola_cpu_take_traffic()
        library.cupola_cpu_count_traffic(1)
        module[name][grid, block](*arguments)
        cupola.Device().synchronize()
        library.cupola_cpu_count_traffic(0)
        accesses, footprint = {}, None
        for line in library.cupola_cpu_take_traffic().decode().splitlines():
            kind, kernel, *fields = line.split("\t")
            assert kernel == name
            if kind == "footprint":
                footprint = tuple(map(int, fields))
            else:
                key = fields[0], fields[1]
                numbers = np.array([int(one) for one in fields[2:7]])
                accesses[key] = accesses.get(key, 0) + numbers
                assert fields[7]
        return {key: tuple(one.tolist()) for key, one in accesses.items()}, footprint

    return launch


@pytest.mark.parametrize(("step", "first", "sectors", "least"), [
    (1, 0, 4, 4), (1, 1, 5, 4), (2, 0, 8, 4), (8, 0, 32, 4), (32, 0, 32, 4), (0, 5, 1, 1),
])  # fmt: skip
def test_sectors_of_a_warp(counted, step, first, sectors, least):
    x, y = cupola.zeros(4 * 33 * 32, "int8"), cupola.zeros(128, "int8")
    accesses, footprint = counted("global", x, y, step, first)
    assert accesses["global", "load"] == (1, 32, 128, sectors, least)
    assert accesses["global", "store"] == (1, 32, 128, 4, 4)
    assert footprint == (sectors, 4) and len(accesses) == 2


def test_wide_and_narrow_accesses(counted):
    x, y = cupola.zeros(128, "float32"), cupola.zeros(128, "float32")
    accesses, _ = counted("wide", x, y)
    assert accesses["global", "load"] == accesses["global", "store"] == (1, 32, 512, 16, 16)
    accesses, _ = counted("bytes", x.view("int8"), y.view("int8"))
    assert accesses["global", "load"] == accesses["global", "store"] == (1, 32, 32, 1, 1)


def test_blocks_and_lanes_that_are_off(counted):
    x, y = cupola.zeros(4 * 32, "int8"), cupola.zeros(4 * 40, "int8")
    accesses, footprint = counted("global", x, y, 0, 0, grid=3, block=40)
    assert accesses["global", "load"] == (6, 120, 480, 6, 6)
    assert accesses["global", "store"] == (6, 120, 480, 15, 15)
    assert footprint == (1, 5)  # three blocks read and write the same


def test_atomics(counted):
    x = cupola.zeros(4, "int32")
    accesses, footprint = counted("add", x)
    assert accesses == {("global", "atomic"): (1, 32, 128, 1, 1)} and footprint == (0, 1)


@pytest.mark.parametrize(
    ("step", "wavefronts"), [(1, 1), (2, 2), (4, 4), (32, 32), (33, 1), (0, 1)]
)
def test_banks(counted, step, wavefronts):
    y = cupola.zeros(32, "int32")
    accesses, _ = counted("shared", y, step)
    assert accesses["shared", "store"] == (33, 33 * 32, 33 * 128, 33, 33)
    assert accesses["shared", "load"] == (1, 32, 128, wavefronts, 1)


@pytest.mark.parametrize(("step", "wavefronts"), [(1, 2), (2, 4), (4, 8)])
def test_banks_of_eight_bytes(counted, step, wavefronts):
    y = cupola.zeros(32, "float64")
    accesses, _ = counted("pairs", y, step)
    assert accesses["shared", "load"] == (1, 32, 256, wavefronts, 2)


def test_asynchronous_copies(counted):
    x, y = cupola.zeros(32, "int32"), cupola.zeros(32, "int32")
    accesses, footprint = counted("copied", x, y)
    assert accesses["global", "load"] == (1, 32, 128, 4, 4)
    assert accesses["shared", "store"] == (1, 32, 128, 1, 1) and footprint == (4, 4)


def test_local_memory_is_not_counted(counted):
    accesses, _ = counted("local", cupola.zeros(32, "int32"), 3)
    assert set(accesses) == {("global", "store")}


def test_nothing_is_counted_unasked(module, library):
    library.cupola_cpu_take_traffic()
    module["add"][1, 32](cupola.zeros(4, "int32"))
    cupola.Device().synchronize()
    assert library.cupola_cpu_take_traffic() == b""
