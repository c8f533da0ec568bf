"""Rows whose elements move by `shift` places, around the ends."""

import numpy as np

operation = dict(
    kernels="roll",
    inputs={"x": "int32[rows, columns]"},
    outputs={"y": "int32[rows, columns]"},
    scalars={"shift": "int"},
    arguments=["x", "y", "rows", "columns", "shift"],
    grid=["rows"],
    block=[128],
)
sizes = {"rows": (0, 50), "columns": (0, 700)}
ranges = {"shift": (-300, 300)}


def reference(x, shift):
    return np.roll(x, shift, axis=1)
