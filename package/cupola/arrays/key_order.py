# cupola/arrays/key_order.py - how the bits of numbers are ordered, for the kernels that sort.
"""The struct ``KeyOrder`` of csrc/kernels/algorithms/sort_keys.cuh."""

from __future__ import annotations

import functools
import struct

import numpy as np

_ALL = (1 << 64) - 1


@functools.cache
def key_order(dtype: np.dtype, descending: bool = False) -> bytes:
    """The order of a type of real numbers; NaN are the greatest, and -0.0 is equal to 0.0."""
    bits = 8 * dtype.itemsize
    sign, mask = 1 << (bits - 1), (1 << bits) - 1
    inverse = _ALL if descending else 0
    if dtype.kind != "f":
        return struct.pack("<7Q", sign if dtype.kind == "i" else 0, 0, 0, mask, 0, 0, inverse)
    first = (1 << np.finfo(dtype).nmant) - 1  # negative NaN
    zero = sign - first
    return struct.pack(
        "<7Q", sign, _ALL, first, greatest_number(dtype) + 1, zero - 1, zero, inverse
    )


def greatest_number(dtype: np.dtype) -> int:
    """The code of the greatest number of a type that is no NaN."""
    bits = 8 * dtype.itemsize
    if dtype.kind != "f":
        return (1 << bits) - 1
    negative_nan = (1 << np.finfo(dtype).nmant) - 1
    infinity = ((1 << (bits - 1)) - 1) & ~negative_nan
    return infinity + (1 << (bits - 1)) - negative_nan
