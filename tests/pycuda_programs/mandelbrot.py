"""The Mandelbrot set by a kernel of a PTX file: mandelbrot.py FILE."""

import sys

import numpy as np
import pycuda.driver as cuda
from pycuda.tools import make_default_context

cuda.init()
context = make_default_context()
SIZE, MOST = 64, 50
kernel = cuda.module_from_file(sys.argv[1]).get_function("mandelbrot")
picture = np.empty((SIZE, SIZE), np.int32)
seconds = kernel(
    cuda.Out(picture), np.int32(SIZE), np.int32(MOST), np.float32(-2.0), np.float32(-1.25),
    np.float32(2.5 / SIZE), block=(16, 16, 1), grid=(SIZE // 16, SIZE // 16), time_kernel=True,
)  # fmt: skip
assert seconds > 0

y, x = np.mgrid[0:SIZE, 0:SIZE]
c = (-2 + x * 2.5 / SIZE) + 1j * (-1.25 + y * 2.5 / SIZE)
z, expected = np.zeros_like(c), np.zeros(c.shape, np.int32)
for _ in range(MOST):
    inside = abs(z) <= 2
    expected += inside
    z = np.where(inside, z * z + c, z)
assert (picture == expected).mean() > 0.99
context.pop()
print("mandelbrot", picture.max())
