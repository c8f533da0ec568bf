"""Convolves rows with a filter in constant memory, in streams, timed by events."""

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

RADIUS, WIDTH, ROWS = 4, 256, 64
module = SourceModule(
    """
    __constant__ float weights[2 * RADIUS + 1];
    __global__ void rows(float* out, const float* in, int width) {
        extern __shared__ float line[];
        int x = threadIdx.x, y = blockIdx.x;
        line[x] = in[y * width + x];
        __syncthreads();
        float sum = 0;
        for (int k = -RADIUS; k <= RADIUS; ++k)
            if (x + k >= 0 && x + k < width) sum += weights[k + RADIUS] * line[x + k];
        out[y * width + x] = sum;
    }
    """,
    options=[f"-DRADIUS={RADIUS}", "-O3"],
)
weights = np.exp(-(np.linspace(-1, 1, 2 * RADIUS + 1) ** 2)).astype(np.float32)
address, size = module.get_global("weights")
assert size == weights.nbytes
cuda.memcpy_htod(address, weights)

rows = module.get_function("rows")
rows.prepare("PPi")
image = cuda.pagelocked_empty((ROWS, WIDTH), np.float32)
image[:] = np.random.default_rng(2).random(image.shape)
result = cuda.pagelocked_zeros_like(image)
streams = [cuda.Stream() for _ in range(2)]
begin, end = cuda.Event(), cuda.Event()
half, memory = ROWS // 2, []
begin.record()
for n, stream in enumerate(streams):
    part = slice(n * half, (n + 1) * half)
    source, target = (cuda.mem_alloc(image[part].nbytes) for _ in range(2))
    memory += [source, target]
    cuda.memcpy_htod_async(source, image[part], stream)
    rows.prepared_async_call((half, 1), (WIDTH, 1, 1), stream, target, source, WIDTH,
                             shared_size=4 * WIDTH)  # fmt: skip
    cuda.memcpy_dtoh_async(result[part], target, stream)
end.record()
end.synchronize()
milliseconds = begin.time_till(end)
assert 0 < milliseconds == end.time_since(begin) < 60_000
expected = np.array([np.convolve(row, weights, "same") for row in image])
np.testing.assert_allclose(result, expected, rtol=1e-5)
print("convolved", result.shape)
