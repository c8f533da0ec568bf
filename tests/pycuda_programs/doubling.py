"""Doubles a matrix in the ways of PyCUDA's tutorial."""

import numpy
import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

matrix = numpy.random.default_rng(1).standard_normal((4, 4)).astype(numpy.float32)
memory = cuda.mem_alloc(matrix.nbytes)
cuda.memcpy_htod(memory, matrix)
module = SourceModule(
    """
    #include <stdio.h>
    __global__ void twice(float* a) {
        int at = threadIdx.x + threadIdx.y * 4;
        a[at] *= 2;
    }
    """
)
twice = module.get_function("twice")
twice(memory, block=(4, 4, 1), grid=(1, 1), shared=0)
result = numpy.empty_like(matrix)
cuda.memcpy_dtoh(result, memory)
assert (result == 2 * matrix).all()

twice(cuda.InOut(result), block=(4, 4, 1))
assert (result == 4 * matrix).all()

twice.prepare("P")
twice.prepared_call((1, 1), (4, 4, 1), memory)
cuda.memcpy_dtoh(result, memory)
assert (result == 4 * matrix).all()

assert ((2 * gpuarray.to_gpu(matrix)).get() == 2 * matrix).all()
print("doubled on", pycuda.autoinit.device.name())
