# cupola/pycuda/_strides.py - strides and contiguity of arrays.
"""Arithmetic of shapes and strides, in bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

Shape = tuple[int, ...]


def as_shape(shape: Any) -> Shape:
    """A shape as a tuple."""
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    try:
        return tuple(int(length) for length in shape)
    except TypeError:
        return (int(shape),)


def contiguous_strides(itemsize: int, shape: Shape, order: str) -> Shape:
    """The strides of a contiguous array."""
    step, strides = itemsize, []
    for length in shape if order == "F" else shape[::-1]:
        strides.append(step)
        step *= length
    return tuple(strides if order == "F" else strides[::-1])


def is_contiguous(itemsize: int, shape: Shape, strides: Shape, order: str) -> bool:
    """Whether the strides are those of a contiguous array, where lengths make them matter."""
    wanted = contiguous_strides(itemsize, shape, order)
    return 0 in shape or all(
        length == 1 or one == other
        for length, one, other in zip(shape, strides, wanted, strict=True)
    )


class ArrayFlags:
    """The contiguity of an array."""

    def __init__(self, array: Any) -> None:
        form = (array.dtype.itemsize, array.shape, array.strides)
        self.c_contiguous = is_contiguous(*form, "C")
        self.f_contiguous = is_contiguous(*form, "F")
        self.forc = self.c_contiguous or self.f_contiguous

    def __repr__(self):
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}"


def like_strides(itemsize: int, shape: Shape, strides: Shape) -> Shape:
    """Contiguous strides with the axes in the order of the given ones."""
    order = sorted(range(len(shape)), key=lambda axis: abs(strides[axis]))
    step, made = itemsize, [0] * len(shape)
    for axis in order:
        made[axis] = step
        step *= shape[axis]
    return tuple(made)
