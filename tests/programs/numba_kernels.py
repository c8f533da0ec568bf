"""numba-cuda: elementwise, a reduction in shared memory, atomics, streams and events."""

import warnings

import numpy as np
from numba import cuda, float32

warnings.simplefilter("ignore")


@cuda.jit
def weighted(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 2 * y[i]


@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    lane, i = cuda.threadIdx.x, cuda.grid(1)
    part[lane] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if lane < half:
            part[lane] += part[lane + half]
        cuda.syncthreads()
        half //= 2
    if lane == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)
        cuda.atomic.max(bins, bins.size - 1, values[i])


print(cuda.get_current_device().name)
x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
weighted[8, 128](x, x, out)
np.testing.assert_array_equal(out, 3 * x)

there, result, stream = cuda.to_device(x), cuda.device_array_like(x), cuda.stream()
start, stop = cuda.event(), cuda.event()
start.record(stream)
weighted[8, 128, stream](there, there, result)
stop.record(stream)
stop.synchronize()
assert cuda.event_elapsed_time(start, stop) >= 0
np.testing.assert_array_equal(result.copy_to_host(), 3 * x)

one = np.zeros(1, np.float32)
total[8, 128](there, one)
assert one[0] == x.sum()

values, bins = (np.arange(1000) % 7).astype(np.int32), np.zeros(8, np.int32)
histogram[8, 128](values, bins)
np.testing.assert_array_equal(bins, [*np.bincount(values), 6])
print("well")
