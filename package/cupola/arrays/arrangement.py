# cupola/arrays/arrangement.py - the elements of an array repeated, shifted and turned.
"""`repeat`, `tile`, `roll`, `flip`, `rot90`, `delete` and `insert`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.arguments import axes_of, integer_of, is_device_array, require_device
from cupola.arrays.gather import take_from
from cupola.arrays.joins import concatenate
from cupola.arrays.launching import launch
from cupola.arrays.layouts import broadcast_to
from cupola.arrays.plans import planned
from cupola.arrays.positions import CHECKED, Positions
from cupola.arrays.rows import array_of, axis_of, with_axis
from cupola.arrays.shapes import moveaxis
from cupola.creation import asarray, empty, empty_like, to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["delete", "flip", "fliplr", "flipud", "insert", "repeat", "roll", "rot90", "tile"]


@planned
def repeat(a: Any, repeats: Any, axis: Any = None) -> Array:
    """Repeat each element along an axis, as ``numpy.repeat``.

    Parameters
    ----------
    a : Array
    repeats : int, or array_like or Array of integers
        How often; one number for all, or one for each element along the axis. Numbers on a device
        are copied to the host, and the call waits for them.
    axis : int, optional
        By default the elements in C order.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array = array_of("repeat", "a", a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    array = with_axis(array, axis)
    number = axis_of("repeat", axis, array.ndim)
    if isinstance(repeats, Array):
        repeats = read_now(repeats, "repeat: argument repeats")
    counts = np.asarray(repeats)
    if counts.size and not np.can_cast(counts.dtype, np.int64, "safe"):
        raise ArgumentTypeError(f"repeat: argument repeats: expected integers, got {counts.dtype}")
    if counts.size and counts.min() < 0:
        raise ArgumentValueError(f"repeat: argument repeats has a negative number: {counts.min()}")
    length = array.shape[number]
    if counts.size == 1:
        return _repeated(array, number, int(counts.reshape(-1)[0]))
    if counts.shape != (length,):
        raise ArgumentValueError(
            f"repeat: argument repeats has the shape {counts.shape}, and axis {number} has "
            f"{length} elements"
        )
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if length else 0
    index: Array = empty(total, np.int64, device=array.device_index)
    if total:
        there = to_device(ends, device=array.device_index)
        launch("search", "search_repeats", array.device_index, total, there, index, length, total)
    positions = Positions("repeat", [index], [number], [length], array.device_index, CHECKED)
    return take_from(array, number, positions)


def _repeated(array: Array, axis: int, count: int) -> Array:
    """Each element `count` times: an axis more, of a stride of 0."""
    shape = array.shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    view = array[(slice(None),) * (axis + 1) + (None,)]
    return broadcast_to(view, wide).copy().reshape(_lengthened(shape, axis, shape[axis] * count))


def _lengthened(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


@planned
def tile(A: Any, reps: Any) -> Array:  # noqa: N803 - NumPy's name
    """Repeat a whole array along its axes, as ``numpy.tile``.

    Parameters
    ----------
    A : Array
    reps : int or sequence of int
        How often along each axis. Missing axes come first.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array = array_of("tile", "A", A)
    listed = reps if isinstance(reps, (tuple, list, np.ndarray)) else (reps,)
    counts = [integer_of("tile", "reps", one) for one in listed]
    if min(counts, default=0) < 0:
        raise ArgumentValueError(f"tile: argument reps has a negative number: {reps}")
    counts = [1] * (array.ndim - len(counts)) + counts
    shape = (1,) * (len(counts) - array.ndim) + array.shape
    view = array.reshape(shape)[tuple(itertools.chain(*[(None, slice(None))] * len(shape)))]
    wide = tuple(itertools.chain(*zip(counts, shape, strict=True)))
    length = tuple([count * n for count, n in zip(counts, shape, strict=True)])
    return broadcast_to(view, wide).copy().reshape(length)


@planned
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """Shift elements along axes; what leaves at the end comes in at the start.

    Like ``numpy.roll``.

    Parameters
    ----------
    a : Array
    shift : int or tuple of int
        By how many places; one number for each axis, or one for all.
    axis : int or tuple of int, optional
        By default the elements in C order.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array = array_of("roll", "a", a)
    if axis is None:
        return roll(array.reshape(-1), shift, 0).reshape(array.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not array.ndim and not axes:
        raise ArgumentValueError(
            "roll: argument axis: expected None for an array without axes, got no axis"
        )
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    try:
        pairs = list(np.broadcast(np.array(axes), np.array(shifts)))
    except ValueError:
        raise ArgumentValueError(
            f"roll: {len(shifts)} numbers in shift and {len(axes)} axes"
        ) from None
    by = [0] * array.ndim
    for one, places in pairs:
        by[axis_of("roll", one, array.ndim)] += integer_of("roll", "shift", places)
    made: Array = empty_like(array, order="C")
    if array.size == 0:
        return made
    choices = []
    for length, places in zip(array.shape, by, strict=True):
        start = places % length
        ends = [(slice(0, length - start), slice(start, None))]
        choices.append([*ends, (slice(length - start, None), slice(0, start))] if start else ends)
    for parts in itertools.product(*choices):
        made[tuple([to for _, to in parts])] = array[tuple([origin for origin, _ in parts])]
    return made


@planned
def flip(m: Any, axis: Any = None) -> Array:
    """A view with the elements in reverse order along axes, by default all of them.

    Like ``numpy.flip``.
    """
    array = array_of("flip", "m", m)
    axes = range(array.ndim) if axis is None else axes_of("flip", axis, array.ndim)
    return _flipped(array, *axes)


def flipud(m: Any) -> Array:
    """A view with the first axis reversed."""
    array = array_of("flipud", "m", m)
    axis_of("flipud", 0, array.ndim)
    return _flipped(array, 0)


def fliplr(m: Any) -> Array:
    """A view with the second axis reversed."""
    array = array_of("fliplr", "m", m)
    axis_of("fliplr", 1, array.ndim)
    return _flipped(array, 1)


def _flipped(array: Array, *axes: int) -> Array:
    view: Array = array[
        tuple([slice(None, None, -1 if at in axes else 1) for at in range(array.ndim)])
    ]
    return view


@planned
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Array:
    """A view that is turned by 90 degrees `k` times, from the first axis to the second.

    Like ``numpy.rot90``.
    """
    array = array_of("rot90", "m", m)
    found = axes_of("rot90", tuple(axes), array.ndim)
    if len(found) != 2:
        raise ArgumentValueError(f"rot90: argument axes: expected two axes, got {axes!r}")
    turns = integer_of("rot90", "k", k) % 4
    one, other = found
    order = list(range(array.ndim))
    order[one], order[other] = other, one
    if turns == 0:
        return _flipped(array)
    if turns == 2:
        return _flipped(array, one, other)
    if turns == 1:
        return _flipped(array, other).transpose(order)
    return _flipped(array.transpose(order), other)


def delete(arr: Any, obj: Any, axis: Any = None) -> Array:
    """The array without some elements along an axis, as ``numpy.delete``.

    Parameters
    ----------
    arr : Array
    obj : int, slice, or array_like of integers or bool, on the host
        The elements to leave out.
    axis : int, optional
        By default the elements in C order.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array, number = _along("delete", arr, obj, axis)
    length = array.shape[number]
    try:
        kept = np.delete(np.arange(length), obj)
    except ValueError as error:
        raise ArgumentValueError(f"delete: argument obj: {error}") from None
    positions = Positions("delete", [kept], [number], [length], array.device_index)
    return take_from(array, number, positions)


def _along(title: str, arr: Any, obj: Any, axis: Any) -> tuple[Array, int]:
    """The array, flattened where `axis` is None, and the axis; refuses an `obj` of a device."""
    array = array_of(title, "arr", arr)
    if axis is None:
        array, axis = array.reshape(-1), 0
    number = axis_of(title, axis, array.ndim)
    if is_device_array(obj):
        raise ArgumentTypeError(
            f"{title}: argument obj: expected indices on the host, got an array of a device; pass "
            "obj.get()"
        )
    return array, number


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Array:
    """The array with values before some of its elements along an axis, as ``numpy.insert``.

    Parameters
    ----------
    arr : Array
    obj : int, slice, or array_like of integers or bool, on the host
        Before which elements.
    values : number, array_like or Array
        They broadcast to the new elements, and are cast to the type of `arr`.
    axis : int, optional
        By default the elements in C order.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array, number = _along("insert", arr, obj, axis)
    length, device = array.shape[number], array.device_index
    new = asarray(values) if is_device_array(values) else to_device(values, device=device)
    require_device("insert", "values", new, device)
    new = new.astype(array.dtype, copy=False)
    if new.ndim > array.ndim:
        raise ArgumentValueError(
            f"insert: argument values has {new.ndim} axes, the array {array.ndim}"
        )
    new = new.reshape((1,) * (array.ndim - new.ndim) + new.shape)
    indices = np.arange(length)[obj] if isinstance(obj, slice) else np.asarray(obj)
    try:
        if indices.ndim == 0:
            new = moveaxis(new, 0, number)  # as NumPy: an int inserts values along the first axis
        single = np.flatnonzero(indices).size == 1 if indices.dtype == bool else indices.size == 1
        count = new.shape[number] if single else np.insert(np.arange(length), obj, 0).size - length
        order = np.insert(np.arange(length), obj, length + np.arange(count))
        shape = _lengthened(array.shape, number, count)
        joined = concatenate([array, broadcast_to(new, shape)], number)
    except (ValueError, IndexError) as error:
        raise ArgumentValueError(f"insert: {error}") from None
    positions = Positions("insert", [order], [number], [length + count], device)
    return take_from(joined, number, positions)
