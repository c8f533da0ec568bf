# cupola/arrays/flat_indices.py - indices of a flattened array, and those along its axes.
"""`unravel_index` and `ravel_multi_index`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array
from cupola.arrays.rows import array_of
from cupola.creation import full
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["ravel_multi_index", "unravel_index"]


def _lengths(function: str, shape: Any, order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise ArgumentValueError(f"{function}: argument order: expected 'C' or 'F', got {order!r}")
    try:
        return tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument shape: expected ints, got {shape!r}"
        ) from None


def _strides(lengths: tuple[int, ...], order: str) -> list[int]:
    """Elements from one index to the next along each axis."""
    return [
        math.prod(lengths[k + 1 :] if order == "C" else lengths[:k]) for k in range(len(lengths))
    ]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """The indices along each axis of elements of a flattened array, as ``numpy.unravel_index``.

    Parameters
    ----------
    indices : Array of integers
        At least 0 and less than the number of elements; this is not checked, since the call would
        have to wait.
    shape : tuple of int
        Of the array.
    order : {"C", "F"}
        The order in which it is flattened.

    Returns
    -------
    tuple of Array
        For each axis, of int64. The work is queued on the current stream.
    """
    flat = array_of("unravel_index", "indices", indices)
    lengths = _lengths("unravel_index", shape, order)
    flat = flat.astype(np.int64, copy=False)
    return tuple(
        flat // stride % length
        for stride, length in zip(_strides(lengths, order), lengths, strict=True)
    )


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Array:
    """The indices of elements in the flattened array, as ``numpy.ravel_multi_index``.

    Parameters
    ----------
    multi_index : sequence of Array or int
        The indices along each axis; they broadcast. At least one is an array.
    dims : tuple of int
        The shape of the array.
    mode : {"raise", "wrap", "clip"}
        How indices out of bounds are treated. "raise" does not check them, since the call would
        have to wait.
    order : {"C", "F"}

    Returns
    -------
    Array
        Of int64. The work is queued on the current stream.
    """
    lengths = _lengths("ravel_multi_index", dims, order)
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentValueError(
            f"ravel_multi_index: argument mode: expected raise, wrap or clip, got {mode!r}"
        )
    if len(multi_index) != len(lengths):
        raise ArgumentValueError(
            f"ravel_multi_index: {len(multi_index)} indices for an array of {len(lengths)} axes"
        )
    total: Any = 0
    for index, stride, length in zip(multi_index, _strides(lengths, order), lengths, strict=True):
        if is_device_array(index):
            index = array_of("ravel_multi_index", "multi_index", index)
            index = index.astype(np.int64, copy=False)
        else:
            index = operator.index(index)
        if mode == "wrap":
            index = index % length
        elif mode == "clip":
            index = np.clip(index, 0, length - 1)
        total = total + index * stride
    return total if isinstance(total, Array) else full((), total, np.int64)
