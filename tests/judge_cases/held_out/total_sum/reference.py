"""The sum of integers, in 64 bits. The counter is 0 before and after."""

import numpy as np

operation = dict(
    kernels="total_sum",
    inputs={"x": "int32[n]", "counter": "uint32[1]"},
    outputs={"total": "int64[1]"},
    mutates=["counter"],
    workspace={"parts": "int64[64]"},
    arguments=["x", "counter", "parts", "total", "n"],
    grid=["max(1, min(64, ceildiv(n, 256)))"],
    block=[256],
)
sizes = {"n": (0, 30000)}
ranges = {"counter": (0, 1)}


def reference(x, counter):
    return np.array([x.sum(dtype=np.int64)]), counter
