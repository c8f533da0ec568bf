"""The bits of float32 rounded to the nearest bfloat16, ties to even. Each NaN becomes 0x7fff."""

import numpy as np

operation = dict(
    kernels="bfloat16_bits",
    inputs={"x": "float32[n]"},
    outputs={"bits": "uint16[n]"},
    arguments=["x", "bits", "n"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 20000)}


def reference(x):
    wide = x.view(np.uint32).astype(np.uint64)
    rounded = (wide + 0x7FFF + ((wide >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(x), 0x7FFF, rounded).astype(np.uint16)
