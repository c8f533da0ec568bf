# cupola/arrays/spread.py - sums of squared distances from the mean, by kernels of their own.
"""`spread_of`, which reads an array once from memory."""

from __future__ import annotations

import math

import numpy as np

from cupola.array import Array
from cupola.arrays.images import kernel
from cupola.arrays.launching import BLOCK
from cupola.arrays.layouts import rows_of, start
from cupola.creation import empty

_SUFFIXES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_WARP = 32
_MOST_OF_A_WARP = 1024  # elements of a row that a warp reads
_PART = 8192  # elements that a block reads
_PART_OF_A_THREAD = 128  # where neighbouring threads read neighbouring rows
_MOST_BLOCKS = (1 << 31) - 1


def spread_of(
    x: Array, axes: tuple[int, ...], divisor: float, root: bool, shape: tuple[int, ...]
) -> Array | None:
    """The variance along axes, or its square root.

    Parameters
    ----------
    axes : tuple of int
        Of 0 to ndim - 1, in order.
    divisor : float
    shape : tuple of int
        That of the result.

    Returns
    -------
    Array or None
        None where the kernels do not take the array: another type, no elements, axes or steps that
        are not even.
    """
    suffix = _SUFFIXES.get(x.dtype)
    if suffix is None or not x.size or not axes or axes[-1] - axes[0] + 1 != len(axes):
        return None
    found = rows_of(x, axes[0], len(axes), join=True)
    if found is None or x.ptr % x.itemsize:
        return None
    (outer, outer_step), (step,), (inner, inner_step) = found
    steps = outer_step, inner_step, step
    if any(one % x.itemsize for one in steps):
        return None
    n = math.prod(x.shape[axis] for axis in axes)
    if inner > 1:
        width, part = 1, _PART_OF_A_THREAD
    else:
        width, part = (_WARP, _MOST_OF_A_WARP) if n <= _MOST_OF_A_WARP else (BLOCK, _PART)
    rows, count = outer * inner, -(-n // part)
    blocks = -(-rows * count * width // BLOCK)
    if blocks > _MOST_BLOCKS:
        return None
    out: Array = empty(shape, x.dtype, device=x.device_index)
    several = count > 1
    parts = empty(2 * rows * count, x.dtype, device=x.device_index) if several else None
    form = n, *[one // x.itemsize for one in steps], part, count, float(divisor), int(root)
    kernel("spread", f"spread_parts_{suffix}", x.device_index)[blocks, BLOCK](
        start(x), parts, out, outer, inner, *form, width
    )
    if several:
        kernel("spread", f"spread_join_{suffix}", x.device_index)[-(-rows * _WARP // BLOCK), BLOCK](
            parts, out, rows, n, part, count, float(divisor), int(root)
        )
    return out
