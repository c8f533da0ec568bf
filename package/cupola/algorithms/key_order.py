# cupola/algorithms/key_order.py - how the bits of numbers are ordered, for the kernels that sort.
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
    mantissa = np.finfo(dtype).nmant
    first = (1 << mantissa) - 1  # negative NaN
    infinity = mask >> 1 & ~first
    nan = infinity + 1 + sign - first
    zero = sign - first
    return struct.pack("<7Q", sign, _ALL, first, nan, zero - 1, zero, inverse)
