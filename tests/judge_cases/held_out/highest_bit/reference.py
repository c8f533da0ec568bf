"""The number of the highest bit that is set, and -1 for 0."""

import numpy as np

operation = dict(
    kernels="highest_bit",
    inputs={"x": "uint32[n]"},
    outputs={"bit": "int32[n]"},
    arguments=["x", "bit", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}


def reference(x):
    return np.frexp(x.astype(np.float64))[1].astype(np.int32) - 1
