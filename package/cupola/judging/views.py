# cupola/judging/views.py - inputs that are views: their strides, and their memory.
"""Strides of views, and the bytes of an array in the memory of a launch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

GUARD_BYTE = 0xFF  # a NaN in floats, -1 in integers


def _apart(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of every second element of rows that have three more."""
    strides = [2]
    for length in shape[:0:-1]:
        strides.append(strides[-1] * length + 3)
    return tuple(strides[::-1])


def _transposed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides with the first axis innermost."""
    return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))


WAYS = {"every second element": _apart, "transposed": _transposed}


def memory_of(data: np.ndarray[Any, Any], strides: tuple[int, ...] | None) -> Any:
    """The bytes of an array in memory; those between the elements of a view are guards."""
    if strides is None:
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    steps = sum((length - 1) * stride for length, stride in zip(data.shape, strides, strict=True))
    made = np.full((steps + 1) * data.itemsize if data.size else 0, GUARD_BYTE, np.uint8)
    if data.size:
        view_of(made.view(data.dtype), data.shape, strides)[...] = data
    return made


def view_of(elements: np.ndarray[Any, Any], shape: Any, strides: tuple[int, ...]) -> Any:
    """The array of a shape whose strides are in elements."""
    return np.lib.stride_tricks.as_strided(
        elements, shape, [one * elements.itemsize for one in strides]
    )
