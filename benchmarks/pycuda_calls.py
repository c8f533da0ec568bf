"""A program of PyCUDA that times its own calls; bench_pycuda.py runs it with PyCUDA and cupola.

It prints one JSON object: for each call the host's microseconds, as the median of rounds.
"""

import json
import statistics
import time
from pathlib import Path

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel

ROUNDS, BATCH = 30, 200  # fewer calls between two synchronisations than a driver's queue holds
MANDELBROT = Path(__file__).parents[1] / "tests" / "pycuda_programs" / "mandelbrot.cu"
module = SourceModule(
    """
    __constant__ float weights[16];
    struct Part { int length, unused; float* data; };
    extern "C" {
    __global__ void saxpy(float a, const float* x, const float* y, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = a * x[i] + y[i];
    }
    __global__ void twice(float* a) { a[threadIdx.x] *= 2; }
    __global__ void square(Part* parts) {
        Part part = parts[blockIdx.x];
        for (int i = threadIdx.x; i < part.length; i += blockDim.x) part.data[i] *= part.data[i];
    }
    __global__ void rows(float* out, const float* in, int width) {
        extern __shared__ float line[];
        int x = threadIdx.x;
        line[x] = in[blockIdx.x * width + x];
        __syncthreads();
        float sum = 0;
        for (int k = 0; k < 9; ++k)
            if (x + k < width) sum += weights[k] * line[x + k];
        out[blockIdx.x * width + x] = sum;
    }
    }
    """
    + MANDELBROT.read_text(),
    no_extern_c=True,
)
N = 64
host = np.arange(N, dtype=np.float32)
x, y, out = (gpuarray.to_gpu(host) for _ in range(3))
memory = cuda.mem_alloc(host.nbytes)
numbers = cuda.mem_alloc(4 * 16 * 16)
parts = cuda.mem_alloc(16)
cuda.memcpy_htod(int(parts), np.int32([0, 0]))
cuda.memcpy_htod(int(parts) + 8, np.intp(int(memory)))
stream = cuda.Stream()
begin, end = cuda.Event(), cuda.Event()
kernels = {
    name: module.get_function(name) for name in ("saxpy", "twice", "square", "rows", "mandelbrot")
}
prepared = module.get_function("saxpy").prepare("fPPPi")
rows = module.get_function("rows").prepare("PPi")
scaled = ElementwiseKernel("float a, float* x, float* out", "out[i] = a * x[i]", "scaled")


def convolve():
    begin.record(stream)
    rows.prepared_async_call(
        (1, 1), (N, 1, 1), stream, memory, x.gpudata, np.int32(N), shared_size=4 * N
    )
    end.record(stream)


CALLS = {
    "kernel(..., block, grid)": lambda: kernels["saxpy"](
        np.float32(2), x, y, out, np.int32(N), block=(N, 1, 1), grid=(1, 1)
    ),
    "prepared_call": lambda: prepared.prepared_call(
        (1, 1), (N, 1, 1), 2.0, x.gpudata, y.gpudata, out.gpudata, N
    ),
    "the tutorial's doubling": lambda: kernels["twice"](memory, block=(N, 1, 1)),
    "the tutorial's doubling of InOut": lambda: kernels["twice"](cuda.InOut(host), block=(N, 1, 1)),
    "structs and arrays": lambda: kernels["square"](parts, block=(32, 1, 1), grid=(1, 1)),
    "convolution with events": convolve,
    "Mandelbrot": lambda: kernels["mandelbrot"](
        numbers, np.int32(16), np.int32(4), np.float32(-2), np.float32(-1.25), np.float32(0.1),
        block=(16, 16, 1), grid=(1, 1),
    ),
    "2 * a": lambda: 2 * x,
    "a + b": lambda: x + y,
    "ElementwiseKernel": lambda: scaled(2.0, x, out),
    "memcpy_htod": lambda: cuda.memcpy_htod(memory, host),
    "to_gpu and get": lambda: gpuarray.to_gpu(host).get(),
}  # fmt: skip


def main():
    found = {}
    for name, call in CALLS.items():
        spans = []
        for _ in range(ROUNDS + 3):
            start = time.perf_counter()
            for _ in range(BATCH):
                call()
            spans.append((time.perf_counter() - start) / BATCH * 1e6)
            pycuda.autoinit.context.synchronize()
            host[:] = np.arange(N)
            cuda.memcpy_htod(memory, host)
        found[name] = statistics.median(spans[3:])
    print(json.dumps(found))


main()
