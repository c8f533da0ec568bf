# cupola/makers/broadcast_layout.py - axes and strides of broadcast arrays, for kernels of makers.
"""Broadcasting, and the struct ``cupola::Layout`` of cupola/makers.cuh."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import MAKER_AXES

Axes = list[tuple[int, tuple[int, ...]]]  # the length of an axis, and each array's step


def broadcast_shape(
    title: str, names: Sequence[str], shapes: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """The shape to which these broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
        raise ArgumentValueError(f"{title}: shapes that do not broadcast: {listed}") from None


def axes_of(arrays: Sequence[Array], shape: tuple[int, ...]) -> Axes:
    """The axes of a shape, with the arrays' strides in bytes; 0 where an array is broadcast."""
    columns = []
    for array in arrays:
        missing = len(shape) - array.ndim
        steps = [
            step if length != 1 else 0
            for length, step in zip(array.shape, array.strides, strict=True)
        ]
        columns.append([0] * missing + steps)
    return [
        (length, tuple(column[axis] for column in columns)) for axis, length in enumerate(shape)
    ]


def merged_axes(title: str, axes: Axes) -> Axes:
    """The same elements in the same order, with as few axes as possible.

    Raises
    ------
    ArgumentValueError
        Where more than MAKER_AXES remain.
    """
    found: Axes = []
    for length, steps in axes:
        if length == 1:
            continue
        if found and found[-1][1] == tuple(step * length for step in steps):
            found[-1] = (found[-1][0] * length, steps)
        else:
            found.append((length, steps))
    if len(found) > MAKER_AXES:
        raise ArgumentValueError(
            f"{title}: {len(found)} axes whose strides differ are more than {MAKER_AXES}: pass "
            "contiguous copies"
        )
    return found


def packed_layout(axes: Axes, arrays: int) -> bytes:
    """The struct for a launch."""
    table = np.zeros((1 + max(arrays, 1), MAKER_AXES), np.int64)
    for axis, (length, steps) in enumerate(axes):
        table[0, axis] = length
        table[1 : 1 + len(steps), axis] = steps
    n = math.prod(length for length, _ in axes)
    return np.array([len(axes), n], np.int64).tobytes() + table.tobytes()


def pointer_argument(array: Array) -> Array:
    """An array for a pointer's parameter: itself, or its first element, of the same memory."""
    return array if array.flags.c_contiguous else array[(0,) * array.ndim]
