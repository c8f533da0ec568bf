"""Rows divided by their scales as int8: to nearest, ties to even, within 127; a NaN becomes 0.

A scale is a power of two, so that the quotient is exact.
"""

import numpy as np

operation = dict(
    kernels="quantise",
    inputs={"x": "float32[rows, columns]", "scales": "float32[rows]"},
    outputs={"y": "int8[rows, columns]"},
    arguments=["x", "scales", "y", "rows", "columns"],
    grid=["ceildiv(columns, 128)", "rows"],
    block=[128],
)
sizes = {"rows": (0, 40), "columns": (0, 600)}


def inputs(rng, sizes):
    return {"scales": 2.0 ** rng.integers(-6, 4, sizes["rows"]).astype(np.float32)}


def reference(x, scales):
    quotient = np.rint(x.astype(np.float64) / scales[:, None])
    return np.nan_to_num(np.clip(quotient, -127, 127)).astype(np.int8)
