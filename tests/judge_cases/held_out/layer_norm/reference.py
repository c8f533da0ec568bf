"""Layer normalisation of rows. The inputs are pressures near 1000."""

import numpy as np

operation = dict(
    kernels="layer_norm",
    inputs={"x": "float32[rows, columns]", "gain": "float32[columns]", "bias": "float32[columns]"},
    outputs={"y": "float32[rows, columns]"},
    scalars={"epsilon": "float"},
    arguments=["x", "gain", "bias", "y", "rows", "columns", "epsilon"],
    grid=["rows"],
    block=[256],
)
sizes = {"rows": (0, 60), "columns": (1, 700)}
ranges = {"x": (1000, 1001), "gain": (-2, 2), "bias": (-2, 2), "epsilon": (0.001, 0.1)}
rtol, atol = 1e-3, 1e-3


def reference(x, gain, bias, epsilon):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
    return (centred * scale * gain + bias).astype(np.float32)
