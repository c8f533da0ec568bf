"""Reciprocals, also of zeros, infinities and denormal numbers."""

import numpy as np

operation = dict(
    kernels="reciprocal",
    inputs={"x": "float32[n]"},
    outputs={"y": "float32[n]"},
    arguments=["x", "y", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}
rtol, atol = 1e-6, 0


def reference(x):
    with np.errstate(all="ignore"):
        return np.float32(1) / x
