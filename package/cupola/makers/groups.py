# cupola/makers/groups.py - the groups of elements that a reduction or scan works on.
"""Groups of elements. Kept axes count the groups, the other axes count a group's elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import MAKER_BLOCK
from cupola.makers.broadcast_layout import Axes, axes_of, merged_axes

# These bounds decide the order in which elements are combined. They depend on no device, so equal
# shapes have equal orders.
_THREAD, _WARP = 32, 1024  # the longest groups that a thread, or a warp, does alone
_CHUNK = 4096  # the shortest chunk of a group that several blocks do
_TASKS = 1024  # blocks that fill a device


class Groups(NamedTuple):
    """The groups of a call."""

    shape: tuple[int, ...]  # the shape to which all inputs are broadcast
    axes: tuple[int, ...]  # the axes that count the elements of a group
    groups: int
    n: int  # elements of each group

    def split(self, title: str, arrays: Sequence[Array]) -> tuple[Axes, Axes]:
        """The axes that count the groups, and those that count the elements of each."""
        every = axes_of(arrays, self.shape)
        inner = merged_axes(title, [every[axis] for axis in self.axes])
        kept = [one for axis, one in enumerate(every) if axis not in self.axes]
        return merged_axes(title, kept), inner

    def flat(self, title: str, arrays: Sequence[Array]) -> bool:
        """Whether each array is in memory group by group, without gaps."""
        if self.groups * self.n == 0:
            return True
        every = axes_of(arrays, self.shape)
        kept = [one for axis, one in enumerate(every) if axis not in self.axes]
        steps = tuple(one.itemsize for one in arrays)
        try:
            whole = merged_axes(title, [*kept, *(every[axis] for axis in self.axes)])
        except ArgumentValueError:
            return False
        return not whole or (len(whole) == 1 and whole[0][1] == steps)

    def kept_shape(self, keepdims: bool) -> tuple[int, ...]:
        """The shape of a result that has one element for each group."""
        if keepdims:
            return tuple(1 if k in self.axes else length for k, length in enumerate(self.shape))
        return tuple(length for k, length in enumerate(self.shape) if k not in self.axes)


def groups_of(title: str, shape: tuple[int, ...], axis: Any) -> Groups:
    """The groups of a shape.

    Parameters
    ----------
    axis : None, int or tuple of int
        The axes of a group's elements; None: all.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Where an axis is no integer, out of range, or given twice.
    """
    given = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = []
    for one in given:
        try:
            number = operator.index(one)
        except TypeError:
            raise ArgumentTypeError(
                f"{title}: axis is None, an int or a tuple of int, got {axis!r}"
            ) from None
        if not -len(shape) <= number < len(shape):
            raise ArgumentValueError(
                f"{title}: axis {number} is out of range for the shape {shape}"
            )
        axes.append(number % len(shape))
    if len(set(axes)) < len(axes):
        raise ArgumentValueError(f"{title}: axis {axis!r} names an axis twice")
    inner = tuple(sorted(axes))
    n = math.prod(shape[one] for one in inner)
    groups = math.prod(length for k, length in enumerate(shape) if k not in inner)
    return Groups(shape, inner, groups, n)


class Chunks(NamedTuple):
    """How groups are dealt out to threads, as ``cupola::Chunks`` has it."""

    groups: int
    n: int
    chunks: int  # the number of chunks of each group
    length: int  # the length of a chunk, in elements
    threads: int  # threads that work on a chunk: 1, a warp or a block

    @property
    def tasks(self) -> int:
        """Chunks of all groups."""
        return self.groups * self.chunks

    @property
    def grid(self) -> int:
        """The blocks of a launch."""
        return max(1, min(-(-self.tasks * self.threads // MAKER_BLOCK), 2**31 - 1))

    def packed(self) -> bytes:
        """The struct for a launch."""
        return np.array(self, np.int64).tobytes()


def chunks_of(groups: int, n: int, tasks: int = _TASKS) -> Chunks:
    """Chunks that give a device enough work, by the numbers of groups and elements alone."""
    threads = 1 if n <= _THREAD else 32 if n <= _WARP else MAKER_BLOCK
    chunks = max(1, min(-(-n // _CHUNK), -(-tasks // max(groups, 1))))
    length = -(-n // chunks)
    length = max(1, -(-length // MAKER_BLOCK) * MAKER_BLOCK if chunks > 1 else length)
    return Chunks(groups, n, max(1, -(-n // length)), length, threads)
