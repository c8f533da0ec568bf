"""Bytes of packages' images, and the time that unpacking adds to a load

python benchmarks/bench_sizes.py [--out FOLDER]

Three collections of kernels, each for 7 targets and as PTX: 3 kernels, 200 instances of a matrix
product, and 40 kernels with CUB. The compilation takes minutes.
"""

import io
import lzma
import statistics
import subprocess
import tempfile
import time
import zlib
from pathlib import Path

import records
from shipped_bytes import TARGETS

import cupola
from cupola.build import toolkit
from cupola.image import reader

ROUNDS = 9
BEST = 9 | lzma.PRESET_EXTREME
THREE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void heat(const float* from, float* to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    int i = y * width + x;
    to[i] = from[i] + 0.1f * (from[i - 1] + from[i + 1] + from[i - width] + from[i +
        width] - 4 * from[i]);
}
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
    __shared__ float part[256];
    const float* row = in + (size_t)blockIdx.x * columns;
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    part[threadIdx.x] = most;
    for (int n = blockDim.x / 2; n; n /= 2) { __syncthreads(); if (threadIdx.x < n)
        part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + n]); }
    __syncthreads(); most = part[0]; __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
    part[threadIdx.x] = sum;
    for (int n = blockDim.x / 2; n; n /= 2) { __syncthreads(); if (threadIdx.x < n)
        part[threadIdx.x] += part[threadIdx.x + n]; }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[(size_t)blockIdx.x * columns +
        i] = expf(row[i] - most) / part[0];
}
"""
PRODUCT = r"""
template <class T, int M, int N, int K, bool Scaled>
__global__ void product(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c,
    int m, int n, int k, T scale) {
    __shared__ T left[K][M * 16 + 1], right[K][N * 16 + 1];
    T sum[M][N] = {};
    const int thread = threadIdx.y * 16 + threadIdx.x, row = blockIdx.y * M * 16,
        column = blockIdx.x * N * 16;
    for (int at = 0; at < k; at += K) {
        for (int i = thread; i < M * 16 * K; i += 256) { int r = i / K, q = i % K;
            left[q][r] = row + r < m && at + q < k ? a[(size_t)(row + r) * k + at + q] : T(0); }
        for (int i = thread; i < N * 16 * K; i += 256) { int q = i / (N * 16), r = i % (N * 16);
            right[q][r] = column + r < n && at + q < k ? b[(size_t)(at + q) * n + column + r] :
                T(0); }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < K; ++q) {
            T x[M], y[N];
#pragma unroll
            for (int i = 0; i < M; ++i) x[i] = left[q][threadIdx.y + 16 * i];
#pragma unroll
            for (int j = 0; j < N; ++j) y[j] = right[q][threadIdx.x + 16 * j];
#pragma unroll
            for (int i = 0; i < M; ++i)
#pragma unroll
                for (int j = 0; j < N; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j) {
            int r = row + threadIdx.y + 16 * i, s = column + threadIdx.x + 16 * j;
            if (r < m && s < n) c[(size_t)r * n + s] = Scaled ? scale * sum[i][j] : sum[i][j];
        }
}
"""
CUB = r"""
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
template <class T, int Items>
__global__ void sort(T* data) {
    using Sort = cub::BlockRadixSort<T, 128, Items>;
    __shared__ typename Sort::TempStorage storage;
    T mine[Items];
    for (int i = 0; i < Items; ++i) mine[i] = data[(blockIdx.x * 128 + threadIdx.x) * Items + i];
    Sort(storage).Sort(mine);
    for (int i = 0; i < Items; ++i) data[(blockIdx.x * 128 + threadIdx.x) * Items + i] = mine[i];
}
template <class T, int Items>
__global__ void scan(T* data) {
    using Scan = cub::BlockScan<T, 128>;
    __shared__ typename Scan::TempStorage storage;
    T mine[Items];
    for (int i = 0; i < Items; ++i) mine[i] = data[(blockIdx.x * 128 + threadIdx.x) * Items + i];
    Scan(storage).InclusiveSum(mine, mine);
    for (int i = 0; i < Items; ++i) data[(blockIdx.x * 128 + threadIdx.x) * Items + i] = mine[i];
}
template <class T, int Items>
__global__ void total(const T* data, T* out) {
    using Reduce = cub::BlockReduce<T, 128>;
    __shared__ typename Reduce::TempStorage storage;
    T mine[Items];
    for (int i = 0; i < Items; ++i) mine[i] = data[(blockIdx.x * 128 + threadIdx.x) * Items + i];
    T sum = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
"""
TILES = (1, 2, 3, 4, 6)


def products():
    """200 instances of the product: types, tiles, depths, with and without a factor."""
    return PRODUCT + "".join(
        f"template __global__ void product<{t}, {m}, {n}, {k}, {scaled}>"
        f"(const {t}*, const {t}*, {t}*, int, int, int, {t});\n"
        for t in ("float", "double")
        for m in TILES
        for n in TILES
        for k in (8, 16)
        for scaled in ("false", "true")
    )


def sorts():
    """40 kernels: sorts, scans and sums of five types."""
    lines = []
    for t in ("int", "unsigned", "float", "double", "long long"):
        lines += [f"template __global__ void sort<{t}, {n}>({t}*);" for n in (2, 4, 8, 16)]
        lines += [f"template __global__ void scan<{t}, {n}>({t}*);" for n in (4, 8)]
        lines += [f"template __global__ void total<{t}, {n}>(const {t}*, {t}*);" for n in (4, 8)]
    return CUB + "\n".join(lines) + "\n"


COLLECTIONS = {"3 kernels": THREE, "200 products": products(), "40 with CUB": sorts()}


def fatbin(source, folder, mode):
    """nvcc's fatbin of all targets."""
    path, made = Path(folder, "k.cu"), Path(folder, "k.fatbin")
    path.write_text(source)
    code = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in TARGETS]
    code.append("-gencode=arch=compute_75,code=compute_75")
    command = [toolkit.find().nvcc, "-std=c++17", "--threads=0", "-fatbin", mode, *code]
    subprocess.run([*command, path, "-o", made], check=True, capture_output=True)
    return made.read_bytes()


def instructions(image):
    """The instructions of all kernels and targets, and the PTX, without what is around them."""
    from elftools.elf.elffile import ELFFile  # only this needs it

    found = []
    for entry in reader.read_image(image).entries:
        if entry.kind == "ptx":
            found.append(entry.payload)
        else:
            sections = ELFFile(io.BytesIO(entry.payload)).iter_sections()
            found += [one.data() for one in sections if one.name.startswith(".text")]
    return b"".join(found)


def load_times(images):
    """Milliseconds of a load of each image with its first kernel, alternately."""
    times = [[] for _ in images]
    for _ in range(ROUNDS):
        for image, found in zip(images, times, strict=True):
            start = time.perf_counter()
            module = cupola.load(image)
            module[module.kernels[0]]
            found.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(found) for found in times]


def wheel(image):
    """Bytes in a wheel, which has its own compression."""
    return len(zlib.compress(image, 6))


def run():
    rows = []
    for name, source in COLLECTIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            plain = fatbin(source, folder, "-no-compress")
            size_mode = fatbin(source, folder, "--compress-mode=size")
        packed = reader.pack(plain)
        rows += [
            records.Row(f"{name}: {what}", value, "bytes")
            for what, value in (
                ("fatbin", len(plain)),
                ("fatbin in a wheel", wheel(plain)),
                ("nvcc's size mode in a wheel", wheel(size_mode)),
                ("packed, in a wheel", wheel(packed)),
                ("fatbin by LZMA", len(lzma.compress(plain, preset=BEST))),
                (
                    "instructions and PTX alone by LZMA",
                    len(lzma.compress(instructions(plain), preset=BEST)),
                ),
            )
        ]
        rows.append(
            records.Row(f"{name}: packed by fatbin, in a wheel", wheel(packed) / wheel(plain), "",
                        goal="value <= 0.5")
        )  # fmt: skip
        rows.append(
            records.Row(f"{name}: packed by nvcc's size mode", wheel(packed) / wheel(size_mode), "",
                        goal="value <= 1.05")
        )  # fmt: skip
        before, after = load_times([plain, packed])
        rows.append(
            records.Row(f"{name}: a load of the packed image, later by", after - before, "ms",
                        goal="value <= 2")
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
