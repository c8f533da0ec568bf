"""pycuda: a SourceModule, prepared calls, arrays that compute."""

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

SOURCE = """
__global__ void doublify(float* a) {
    int i = threadIdx.x + threadIdx.y * 4;
    a[i] *= 2;
}
"""

print(pycuda.autoinit.device.name())
kernel = SourceModule(SOURCE).get_function("doublify")
a = np.arange(16, dtype=np.float32).reshape(4, 4)
there = cuda.mem_alloc(a.nbytes)
cuda.memcpy_htod(there, a)
kernel(there, block=(4, 4, 1))
kernel.prepare("P")
kernel.prepared_call((1, 1), (4, 4, 1), there)
back = np.empty_like(a)
cuda.memcpy_dtoh(back, there)
np.testing.assert_array_equal(back, 4 * a)
kernel(cuda.InOut(a), block=(4, 4, 1))
np.testing.assert_array_equal(2 * a, back)

x, y = gpuarray.to_gpu(np.arange(100, dtype=np.float32)), gpuarray.arange(100, dtype=np.float32)
np.testing.assert_array_equal((2 * x + y * y - 1).get(), 2 * x.get() + y.get() ** 2 - 1)
assert gpuarray.sum(x).get() == 4950
print("well")
