"""Products with scale factors as programs have them: CUDA C++ that nvcc compiles, against NumPy."""

import numpy as np
import pytest
from images import compiled, folder

from . import device_process
from .test_matrix_kinds import FORMATS, SCALES, pytestmark  # noqa: F401 - pytest reads the mark
from .test_native import COMPILED

# A warp makes a tile of 16 x 8. B has its columns one after another.
PROGRAM = r"""
#include <cstdint>

__device__ unsigned word(const std::uint8_t* p) { return *reinterpret_cast<const unsigned*>(p); }
__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void store(float* d, const float* sum, int n) {
    const int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4, column = blockIdx.x * 8;
    for (int i = 0; i < 4; ++i)
        d[(row + i / 2 * 8) * n + column + lane % 4 * 2 + i % 2] = sum[i];
}

// nvfp4: a scale factor for 16 elements. Lanes 2 and 3 of four have those of A, lane 3 those of B.
extern "C" __global__ void nvfp4(const std::uint8_t* a, const std::uint8_t* b,
                                 const std::uint8_t* sa, const std::uint8_t* sb, float* d, int n,
                                 int k) {
    const int lane = threadIdx.x, group = lane / 4, t = lane % 4;
    const int row = blockIdx.y * 16 + group, column = blockIdx.x * 8 + group;
    float s[4] = {};
    for (int i = 0; i < k; i += 64) {
        unsigned x[4], y[2];
        for (int q = 0; q < 4; ++q)
            x[q] = word(&a[((row + q % 2 * 8) * k + i + q / 2 * 32 + t * 8) / 2]);
        for (int q = 0; q < 2; ++q) y[q] = word(&b[(column * k + i + q * 32 + t * 8) / 2]);
        const unsigned left = t < 2 ? 0xffffffff : word(&sa[((row + t % 2 * 8) * k + i) / 16]);
        const unsigned right = t < 3 ? 0xffffffff : word(&sb[(column * k + i) / 16]);
        const unsigned short zero = 0, one = 1, three = 3;
        asm volatile(
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
            ".f32.e2m1.e2m1.f32.ue4m3 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3}, %10, {%11, %12}, %13, {%11, %14};"
            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(left),
              "h"(zero), "h"(one), "r"(right), "h"(three));
    }
    store(d, s, n);
}

// e2m1 by e3m2 with a scale factor for 32 elements. Shared memory has sixteen elements in 16 bytes.
extern "C" __global__ void mixed(const std::uint8_t* a, const std::uint8_t* b,
                                 const std::uint8_t* sa, const std::uint8_t* sb, float* d, int n,
                                 int k) {
    __shared__ __align__(16) std::uint8_t left[32 * 16], right[16 * 16];
    const int lane = threadIdx.x, group = lane / 4, t = lane % 4;
    const int row = blockIdx.y * 16, column = blockIdx.x * 8;
    float s[4] = {};
    for (int i = 0; i < k; i += 32) {
        for (int c = 0; c < 8; ++c)
            left[lane * 16 + c] = a[((row + lane % 16) * k + i + lane / 16 * 16) / 2 + c];
        for (int c = 0; c < 12 && lane < 16; ++c)
            right[lane * 16 + c] = b[((column + lane % 8) * k + i + lane / 8 * 16) * 3 / 4 + c];
        __syncwarp();
        unsigned x[4], y[2];
        asm volatile(
            "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {%0, %1, %2, %3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
            : "r"(shared_address(&left[lane * 16])));
        asm volatile("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared_address(&right[lane % 16 * 16])));
        const unsigned sx = sa[((row + group + t % 2 * 8) * k + i) / 32] << 16;
        const unsigned sy = sb[((column + group) * k + i) / 32] << 24;
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e3m2.f32.ue8m0 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, "
            "%10, {2, 0}, %11, {3, 1};"
            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
            : "r"(x[0] << 2), "r"(x[1] << 2), "r"(x[2] << 2), "r"(x[3] << 2), "r"(y[0]),
              "r"(y[1]), "r"(sx), "r"(sy));
        __syncwarp();
    }
    store(d, s, n);
}
"""


IN_MACHINE_CODE = [*COMPILED, pytest.mark.campaign("machine code of two kernels")]


def stored(codes, bits):
    """Codes [line, k] without gaps between them, as bytes."""
    ones = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(ones.reshape(len(codes), -1), axis=1, bitorder="little")


def run_program(text, name, arrays, n, k):
    module = device_process.driver().load(text)
    module.run(name, (n // 8, len(arrays[-1]) // 16), 32, [*arrays, np.int32(n), np.int32(k)])
    return arrays[-1]


@pytest.mark.parametrize("name, a, b, chunk, scale", [
    ("nvfp4", "e2m1", "e2m1", 16, "ue4m3"), ("mixed", "e2m1", "e3m2", 32, "ue8m0"),
])  # fmt: skip
@pytest.mark.parametrize("mode", ["interpret", pytest.param("compile", marks=IN_MACHINE_CODE)])
def test_programs(mode, name, a, b, chunk, scale, monkeypatch, tmp_path):
    source = folder() / "kinds.cu"
    source.write_text(PROGRAM)
    text = compiled("kinds.ptx", source, "-ptx", "-arch=compute_120a").read_text()
    m, n, k = 32, 24, 192
    rng = np.random.default_rng(3)
    factors, words, scales = [], [], []
    for t, lines in ((a, m), (b, n)):
        kind, bits, _ = FORMATS[t]
        codes = rng.integers(0, 1 << bits, (lines, k)).astype(np.uint8)
        some = [0.25, 0.5, 1, 2, 3] if scale == "ue4m3" else [0.5, 1, 2]
        factor = rng.choice(some, (lines, k // chunk)).astype(SCALES[scale])
        words.append(stored(codes, bits))
        scales.append(factor.view(np.uint8))
        numbers = codes.view(kind).astype(np.float64)
        factors.append(numbers * factor.astype(np.float64).repeat(chunk, 1))
    monkeypatch.setenv("CUPOLA_CPU_MODE", mode)
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    process = device_process.DeviceProcess("12.0")
    try:
        arrays = [*words, *scales, np.zeros((m, n), np.float32)]
        d = process.run(run_program, text, name, arrays, n, k)
    finally:
        process.pool.shutdown()
    # The numbers are such that each sum is exact.
    assert (d == factors[0] @ factors[1].T).all()
