# matmul/__init__.py - products of float16 matrices, with the best kernel that a GPU has.
"""Products of float16 matrices.

::

    import cupola, matmul, numpy as np

    a, b = cupola.ones((64, 128), np.float16), cupola.ones((32, 128), np.float16)
    c = matmul.product(a, b)  # a @ b.T in float32
"""

from __future__ import annotations

import numpy as np

import cupola
from matmul import kernels

__all__ = ["product"]

TILE = 64  # rows and columns of a box of hopper.cu
BOXES = 2 * 4 * TILE * TILE * 2 + 1024  # bytes: four boxes of each matrix, aligned to 1024


def product(a: cupola.Array, b: cupola.Array) -> cupola.Array:
    """The product ``a @ b.T``.

    Parameters
    ----------
    a : (rows, depth) Array of float16
    b : (columns, depth) Array of float16

    Returns
    -------
    (rows, columns) Array of float32
        The work is queued on the current stream.
    """
    for name, x in (("a", a), ("b", b)):
        if x.ndim != 2 or x.dtype != np.float16 or not x.flags.c_contiguous:
            raise ValueError(f"{name} is a contiguous matrix of float16, got {x!r}")
    (rows, depth), (columns, other) = a.shape, b.shape
    if depth != other:
        raise ValueError(f"rows of a have {depth} elements, rows of b have {other}")
    c = cupola.empty((rows, columns), np.float32)
    # The tensor copy engine needs rows that are multiples of 16 bytes.
    if a.device.compute_capability == (9, 0) and depth and depth % 8 == 0:
        maps = [cupola.TensorMap(x, (TILE, TILE), swizzle=128) for x in (a, b)]
        grid = -(-columns // TILE), -(-rows // TILE)
        kernels.product_hopper[grid, 128, None, BOXES](*maps, c, rows, columns, depth)
    else:
        grid = -(-columns // 16), -(-rows // 16)
        kernels.product_plain[grid, (16, 16)](a, b, c, rows, columns, depth)
    return c
