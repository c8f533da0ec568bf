# order_by/__init__.py - a sort whose comparison its users write.
"""Sorts float32 numbers by a comparison in CUDA C++.

::

    import cupola, order_by

    by_size = order_by.order('extern "C" __device__ bool less(const float& a, const float& b) {'
                             ' return fabsf(a) < fabsf(b); }')
    by_size(cupola.array([-3, 1, 2], "f4"))  # 1, 2, -3
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import numpy as np

import cupola
from order_by import kernels

__all__ = ["TILE", "order", "sort"]

TILE = 2048  # numbers a block sorts, of sort.cu
THREADS = 256


def order(less: str | PathLike[str]) -> Callable[[cupola.Array], cupola.Array]:
    """A function that sorts by a comparison.

    Parameters
    ----------
    less : str or os.PathLike
        A source of CUDA C++, its text or its path, that defines
        ``extern "C" __device__ bool less(const float& a, const float& b)``. For a GPU it is
        inlined in the kernels.
    """
    module = cupola.link([kernels, less])
    return lambda x: sort(x, module)


def sort(x: cupola.Array, module: cupola.Module) -> cupola.Array:
    """A sorted copy, by the kernels of a module. Equal numbers keep their order.

    The work is queued on the current stream.
    """
    if x.dtype != np.float32 or x.ndim != 1 or not x.flags.c_contiguous:
        raise ValueError(f"x is a contiguous array of float32 with one axis, got {x!r}")
    n = x.size
    tiles = -(-n // TILE)
    if n == 0:
        return x.copy()
    out, other = cupola.empty_like(x), None
    module["sort_tiles"][tiles, THREADS](x, out, n)
    width = TILE
    while width < n:
        other = cupola.empty_like(x) if other is None else other
        module["merge_runs"][tiles, THREADS](out, other, n, width)
        out, other = other, out
        width *= 2
    return out
