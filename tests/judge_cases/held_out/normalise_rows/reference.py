"""Weighs each row in place, and divides it by the sum."""

import numpy as np

operation = dict(
    kernels="normalise_rows",
    inputs={"x": "float32[rows, columns]", "weights": "float32[columns]"},
    outputs={},
    mutates=["x"],
    arguments=["x", "weights", "rows", "columns"],
    grid=["rows"],
    block=[128],
)
sizes = {"rows": (0, 100), "columns": (0, 500)}
ranges = {"x": (0.25, 4), "weights": (0.25, 4)}
rtol, atol = 1e-4, 1e-6


def reference(x, weights):
    weighed = x.astype(np.float64) * weights
    return (weighed / weighed.sum(axis=1, keepdims=True)).astype(np.float32)
