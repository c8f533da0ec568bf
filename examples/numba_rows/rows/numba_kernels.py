# rows/numba_kernels.py - the kernels as Numba reads them; only the build imports this file.
import math

from numba import cuda, float32

THREADS = 128


@cuda.jit
def axpy(a, x, y, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a * x[i] + y[i]


@cuda.jit
def softmax(out, x):
    """A block of 128 threads computes a row."""
    shared = cuda.shared.array(THREADS, float32)
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    most = float32(-math.inf)
    for j in range(thread, x.shape[1], THREADS):
        most = max(most, x[row, j])
    shared[thread] = most
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            shared[thread] = max(shared[thread], shared[thread + half])
        cuda.syncthreads()
        half //= 2
    most = shared[0]
    cuda.syncthreads()
    total = float32(0)
    for j in range(thread, x.shape[1], THREADS):
        power = math.exp(x[row, j] - most)
        out[row, j] = power
        total += power
    shared[thread] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    for j in range(thread, x.shape[1], THREADS):
        out[row, j] /= shared[0]
