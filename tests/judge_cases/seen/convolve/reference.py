"""Correlation of a signal with a few weights; the signal is 0 outside."""

import numpy as np

operation = dict(
    kernels="convolve",
    inputs={"x": "float32[n]", "w": "float32[taps]"},
    outputs={"y": "float32[n]"},
    arguments=["x", "w", "y", "n", "taps"],
    grid=["ceildiv(n, 256)"],
    block=[256],
)
sizes = {"n": (0, 3000), "taps": (1, 33)}
ranges = {"x": (-4, 4), "w": (-4, 4)}
rtol, atol = 1e-4, 1e-3


def reference(x, w):
    taps = len(w)
    padded = np.zeros(len(x) + taps)
    padded[taps // 2 : taps // 2 + len(x)] = x
    y = np.zeros(len(x))
    for j in range(taps):
        y += w[j] * padded[j : j + len(x)]
    return y.astype(np.float32)
