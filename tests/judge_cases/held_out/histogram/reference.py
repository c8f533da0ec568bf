"""How often each byte occurs."""

import numpy as np

operation = dict(
    kernels="histogram",
    inputs={"values": "uint8[n]"},
    outputs={"counts": "int32[256]"},
    arguments=["values", "counts", "n"],
    grid=[1],
    block=[256],
)
sizes = {"n": (0, 20000)}


def reference(values):
    return np.bincount(values, minlength=256).astype(np.int32)
