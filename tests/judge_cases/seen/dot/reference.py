"""The inner product of two vectors."""

import numpy as np

operation = dict(
    kernels="dot",
    inputs={"a": "float32[n]", "b": "float32[n]"},
    outputs={"product": "float32[1]"},
    arguments=["a", "b", "product", "n"],
    grid=[1],
    block=[256],
)
sizes = {"n": (0, 5000)}
ranges = {"a": (-8, 8), "b": (-8, 8)}
rtol, atol = 1e-4, 1e-2


def reference(a, b):
    return np.array([np.dot(a.astype(np.float64), b)], np.float32)
