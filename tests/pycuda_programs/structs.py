"""Structs in device memory, each with a length and a pointer to an array."""

import numpy
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

module = SourceModule(
    """
    struct Part { int length, unused; float* data; };
    __global__ void square(Part* parts) {
        Part part = parts[blockIdx.x];
        for (int i = threadIdx.x; i < part.length; i += blockDim.x) part.data[i] *= part.data[i];
    }
    """
)


class Part:
    size = 8 + numpy.intp(0).nbytes

    def __init__(self, values, at):
        self.values, self.data = values, cuda.to_device(values)
        cuda.memcpy_htod(int(at), numpy.int32(values.size))
        cuda.memcpy_htod(int(at) + 8, numpy.intp(int(self.data)))

    def get(self):
        return cuda.from_device(self.data, self.values.shape, self.values.dtype)


arrays = [numpy.arange(n, dtype=numpy.float32) for n in (3, 40)]
memory = cuda.mem_alloc(2 * Part.size)
parts = [Part(values, int(memory) + n * Part.size) for n, values in enumerate(arrays)]
module.get_function("square")(memory, block=(32, 1, 1), grid=(2, 1))
for part in parts:
    assert (part.get() == part.values**2).all()
module.get_function("square")(numpy.intp(memory) + Part.size, block=(32, 1, 1), grid=(1, 1))
assert (parts[0].get() == arrays[0] ** 2).all() and (parts[1].get() == arrays[1] ** 4).all()
print("squared", [part.values.size for part in parts])
