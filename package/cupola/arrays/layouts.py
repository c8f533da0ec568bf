# cupola/arrays/layouts.py - shapes and strides of arrays for kernels that move elements.
"""Evenly spaced groups of axes, and the words to move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.launching import WIDTHS, widest
from cupola.creation import strided_view
from cupola.element import natural_alignment
from cupola.exceptions import ArgumentValueError

Axis = tuple[int, int]  # length and step


class Rows(NamedTuple):
    """Three groups of an array's axes; steps in bytes."""

    outer: Axis
    steps: tuple[int, ...]  # strides of the axes between
    inner: Axis

    def is_contiguous(self, itemsize: int) -> bool:
        return self.inner[0] == 1 or self.inner[1] == itemsize

    def counted(self, itemsize: int, width: int) -> tuple[int, int, int, int]:
        """Lengths of the outer and the inner axis, and their steps, in words."""
        length, step = self.outer[0], self.outer[1] // width
        if self.is_contiguous(itemsize):
            return length, self.inner[0] * itemsize // width, step, 1
        return length, self.inner[0], step, self.inner[1] // width


def merged(shape: Sequence[int], strides: Sequence[int]) -> Axis | None:
    """One axis with the elements of all axes; None where the elements are not evenly spaced."""
    length, step = 1, 0
    for count, stride in zip(shape, strides, strict=True):
        if count == 1:
            continue
        if length != 1 and step != count * stride:
            return None
        length, step = length * count, stride
    return length, step


def rows_of(view: Array, before: int, axes: int, *, join: bool = False) -> Rows | None:
    """The axes before, among and after some; None where a group is not evenly spaced.

    `join`: those between are one group, too.
    """
    shape, strides = view.shape, view.strides
    after = before + axes
    outer = merged(shape[:before], strides[:before])
    inner = merged(shape[after:], strides[after:])
    middle = merged(shape[before:after], strides[before:after]) if join else (1, 0)
    if outer is None or inner is None or middle is None:
        return None
    between = zip(shape[before:after], strides[before:after], strict=True)
    steps = tuple([step if length != 1 else 0 for length, step in between])
    return Rows(outer, (middle[1],) if join else steps, inner)


def width_of(arrays: Sequence[Array], rows: Sequence[Rows]) -> int | None:
    """The bytes of the words to move; None where an element must be moved in several words."""
    itemsize = arrays[0].itemsize
    numbers = []
    for array, one in zip(arrays, rows, strict=True):
        numbers += [array.ptr, one.outer[1], *one.steps]
    if all(one.is_contiguous(itemsize) for one in rows):
        return widest([*numbers, rows[0].inner[0] * itemsize])
    numbers += [one.inner[1] for one in rows if one.inner[0] != 1]
    if itemsize in WIDTHS and not any(number % itemsize for number in numbers):
        return itemsize
    return None


def start(view: Array) -> Array:
    """The view for a pointer's parameter: itself, or its first element, of the same memory."""
    return as_words(view if view.flags.c_contiguous else view[(0,) * view.ndim])


def as_words(array: Array) -> Array:
    """An array in C order for a kernel that moves words: as bytes where it is not aligned."""
    if array.nbytes == 0 or array.ptr % natural_alignment(array.dtype) == 0:
        return array
    found: Array = array.reshape(-1).view(np.uint8)
    return found


def broadcast_to(array: Array, shape: tuple[int, ...]) -> Array:
    """A view of another shape, by NumPy's rules; several of its elements may be the same one.

    Raises
    ------
    ArgumentValueError
        Where the shape does not fit.
    """
    new = len(shape) - array.ndim
    strides = [0] * max(new, 0)
    fits = new >= 0
    axes = zip(array.shape, array.strides, shape[max(new, 0) :], strict=False)
    for length, stride, wanted in axes:
        fits = fits and length in (1, wanted)
        strides.append(stride if length == wanted else 0)
    if not fits:
        raise ArgumentValueError(
            f"an array of shape {array.shape} can't be broadcast to shape {shape}"
        )
    view: Array = strided_view(array, shape, tuple(strides))
    return view


def overlap(one: Array, other: Array) -> bool:
    """Whether two arrays may share memory."""
    if one.nbytes == 0 or other.nbytes == 0 or one.device_index != other.device_index:
        return False
    low, high = _extent(one)
    other_low, other_high = _extent(other)
    return low < other_high and other_low < high


def _extent(array: Array) -> tuple[int, int]:
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low = array.ptr + sum([span for span in spans if span < 0])
    return low, array.ptr + array.itemsize + sum([span for span in spans if span > 0])
