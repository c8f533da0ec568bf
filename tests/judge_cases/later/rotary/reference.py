"""Rotary embedding in halves; each half has angles of its own.

The first `turned` elements of a head are rotated, and the others are copied.
"""

import numpy as np

operation = dict(
    kernels="rotary",
    inputs={
        "x": "float32[tokens, heads, width]",
        "cosines": "float32[tokens, turned]",
        "sines": "float32[tokens, turned]",
    },
    outputs={"y": "float32[tokens, heads, width]"},
    arguments=["x", "cosines", "sines", "y", "tokens", "heads", "width", "turned"],
    grid=["tokens", "heads"],
    block=[64],
)
sizes = {"tokens": (0, 20), "heads": (1, 6), "width": (8, 160), "turned": (2, 8)}
ranges = {"x": (-4, 4), "cosines": (-1, 1), "sines": (-1, 1)}
rtol, atol = 1e-5, 1e-5


def reference(x, cosines, sines):
    turned = cosines.shape[1] // 2 * 2
    half = turned // 2
    y = x.astype(np.float64)
    first, second = y[..., :half].copy(), y[..., half:turned].copy()
    cosines, sines = cosines[:, None].astype(np.float64), sines[:, None].astype(np.float64)
    y[..., :half] = first * cosines[..., :half] - second * sines[..., :half]
    y[..., half:turned] = second * cosines[..., half:turned] + first * sines[..., half:turned]
    return y.astype(np.float32)
