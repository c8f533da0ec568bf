"""Run in a build of examples/numba_rows: its kernels, and those that Numba itself launches."""

import numpy as np
from numba import cuda
from rows import kernels, numba_kernels, ops

x, y = np.random.default_rng(1).standard_normal((2, 1000)).astype(np.float32)
x, y = cuda.to_device(x), cuda.to_device(y)
ours, theirs = (cuda.to_device(np.zeros(1000, np.float32)) for _ in range(2))
numba_kernels.axpy[8, 128](np.float32(2.5), x, y, theirs, np.int32(1000))
cuda.synchronize()
kernels.axpy[8, 128](2.5, x, y, ours, 1000)
cuda.synchronize()
assert np.array_equal(ours.copy_to_host(), theirs.copy_to_host())
ours = cuda.to_device(np.zeros(1000, np.float32))
kernels.axpy_arrays[8, 128](2.5, x, y, ours, 1000)
cuda.synchronize()
assert np.array_equal(ours.copy_to_host(), theirs.copy_to_host())

x = np.random.default_rng(2).standard_normal((33, 300)).astype(np.float32)
theirs = cuda.to_device(np.zeros_like(x))
numba_kernels.softmax[33, 128](theirs, cuda.to_device(x))
cuda.synchronize()
import cupola  # noqa: E402 - after Numba has made its context

assert np.array_equal(ops.softmax(cupola.to_device(x)).get(), theirs.copy_to_host())
print("equal")
