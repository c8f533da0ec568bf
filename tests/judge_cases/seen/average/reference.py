"""The average of two integers, rounded down."""

import numpy as np

operation = dict(
    kernels="average",
    inputs={"a": "int32[n]", "b": "int32[n]"},
    outputs={"middle": "int32[n]"},
    arguments=["a", "b", "middle", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}


def reference(a, b):
    return ((a.astype(np.int64) + b) >> 1).astype(np.int32)
