# stencil/cases.py - what the variants are measured with.
"""Arguments of the kernel, and the results that each variant must have."""

import numpy as np

import cupola


def smoothed(x):
    """The result of `stencil.smooth`, by NumPy, with the kernel's order of additions."""
    result = x.copy()
    around = (x[:-2, 1:-1] + x[2:, 1:-1]) + (x[1:-1, :-2] + x[1:-1, 2:])
    result[1:-1, 1:-1] = np.float32(0.2) * (x[1:-1, 1:-1] + around)
    return result


def smooth():
    """A case for each shape: small and large, square and long."""
    random = np.random.default_rng(1)
    for rows, columns in [(256, 256), (1024, 1024), (4096, 4096), (64, 16384), (16384, 64)]:
        x = random.random((rows, columns), np.float32)
        yield cupola.Case((np.zeros_like(x), x, rows, columns), {"result": smoothed(x)}, rtol=0)
