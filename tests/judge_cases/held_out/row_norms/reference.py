"""The Euclidean norm of each row."""

import numpy as np

operation = dict(
    kernels="row_norms",
    inputs={"x": "float32[rows, columns]"},
    outputs={"norms": "float32[rows]"},
    arguments=["x", "norms", "rows", "columns"],
    grid=["rows"],
    block=[128],
)
sizes = {"rows": (0, 60), "columns": (0, 1000)}
ranges = {"x": (-8, 8)}
rtol, atol = 1e-4, 1e-5


def reference(x):
    return np.sqrt((x.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)
