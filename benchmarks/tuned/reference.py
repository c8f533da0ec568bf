"""The result of examples/stencil's kernel, by NumPy, and the sizes that a package is tuned for."""

import numpy as np

SIZES = [(256, 256), (1024, 1024), (4096, 4096), (64, 16384), (16384, 64)]


def smoothed(x):
    result = x.copy()
    around = (x[:-2, 1:-1] + x[2:, 1:-1]) + (x[1:-1, :-2] + x[1:-1, 2:])
    result[1:-1, 1:-1] = np.float32(0.2) * (x[1:-1, 1:-1] + around)
    return result
