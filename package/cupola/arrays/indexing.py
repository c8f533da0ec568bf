# cupola/arrays/indexing.py - elements by their indices.
"""`take`, `put`, `take_along_axis` and `put_along_axis`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import (
    is_device_array,
    require_device,
    require_writable,
    result,
)
from cupola.arrays.gather import put_along, put_into, take_along, take_from
from cupola.arrays.layouts import broadcast_to
from cupola.arrays.plans import planned
from cupola.arrays.positions import Positions, mode_of
from cupola.arrays.rows import array_of, axis_of, with_axis
from cupola.creation import asarray, empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["put", "put_along_axis", "take", "take_along_axis"]


@planned
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Array:
    """Elements along an axis, as ``numpy.take``.

    Parameters
    ----------
    a : Array
        Of any dtype.
    indices : array_like or Array of integers
        On the host or on the array's device.
    axis : int, optional
        By default indices count the elements in C order.
    out : Array, optional
        Of the result's shape.
    mode : {"raise", "wrap", "clip"}
        For an index out of range: an error; the remainder; or the first or last element.

    Returns
    -------
    Array
        Of the shape ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``; or `out`. The work
        is queued on the current stream.

    Raises
    ------
    IndexError
        Where an index on the host is out of range, with ``mode="raise"``.

    Notes
    -----
    With ``mode="raise"``, the device checks indices that are on the device, and the call does not
    wait. Where an index is out of range, its element of the result is the first one. The next wait
    for the device raises the IndexError, which names the function and one such index: a copy to
    the host, `Stream.synchronize`, `Event.synchronize` or `Device.synchronize`.
    """
    array = array_of("take", "a", a)
    index = _indices("take", indices)
    array, number = _along("take", with_axis(array, axis), axis)
    size = array.shape[number]
    how = mode_of("take", mode)
    positions = Positions("take", [index], [number], [size], array.device_index, how)
    return result("take", take_from(array, number, positions), out)


def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write elements, counted in C order, as ``numpy.put``.

    Parameters
    ----------
    a : Array
        It is written.
    ind : array_like or Array of integers
    v : array_like or Array
        Repeated where there are more indices; cast by the rule "same_kind".
    mode : {"raise", "wrap", "clip"}
        As for `take`.

    Notes
    -----
    Of several equal indices the last one's value stays. The device checks its own indices as for
    `take`: nothing is written for an index that is out of range, and a later wait raises the error.
    """
    require_writable("put", "a", array_of("put", "a", a))
    index = _indices("put", ind)
    flat = a.reshape(-1)
    how = mode_of("put", mode)
    positions = Positions("put", [index], [0], [flat.size], a.device_index, how)
    values = _values("put", a, v).reshape(-1)
    n = positions.size
    if n == 0 or values.size == 0:
        return
    if 1 < values.size < n:
        repeats = -(-n // values.size)
        values = broadcast_to(values, (repeats, values.size)).copy().reshape(-1)
    values = values[:n] if values.size > 1 else values
    put_into(flat, 0, positions, values.reshape(positions.shape) if values.size == n else values)
    if a.size and flat.ptr != a.ptr:
        a[...] = flat.reshape(a.shape)


@planned
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Array:
    """Elements along an axis, by an array of indices for each row, as ``numpy.take_along_axis``.

    Parameters
    ----------
    arr : Array
    indices : array_like or Array of integers
        Of the same number of axes; all but `axis` broadcast with those of `arr`.
    axis : int or None
        None: `arr` is flattened first, and the indices have one axis.

    Returns
    -------
    Array

    Raises
    ------
    IndexError
        Where an index on the host is out of range. The device checks its own indices as for `take`.
    """
    array = array_of("take_along_axis", "arr", arr)
    index = _indices("take_along_axis", indices)
    array, index, number = _rows("take_along_axis", array, index, axis)
    others = _joint("take_along_axis", array, index, number)
    array = broadcast_to(array, _with_length(others, number, array.shape[number]))
    return take_along(array, number, _along_axis("take_along_axis", array, index, number, others))


def put_along_axis(arr: Array, indices: Any, values: Any, axis: Any) -> None:
    """Write elements along an axis, by an array of indices for each row.

    Like ``numpy.put_along_axis``.

    Parameters
    ----------
    arr : Array
        It is written.
    indices : array_like or Array of integers
        Of the same number of axes; all but `axis` broadcast to those of `arr`.
    values : array_like or Array
        Broadcast to the shape of the indices; cast by the rule "same_kind".
    axis : int or None
        None: `arr` is used as if it had one axis.

    Notes
    -----
    Of several equal indices of a row the last one's value stays. The device checks its own indices
    as for `put`.
    """
    title = "put_along_axis"
    require_writable(title, "arr", array_of(title, "arr", arr))
    array, index, number = _rows(title, arr, _indices(title, indices), axis)
    target = array if array.flags.c_contiguous else array.copy()
    others = _without_axis(array.shape, number)
    if _joint(title, array, index, number) != others:
        raise _misfit(title, array, index)
    positions = _along_axis(title, target, index, number, others)
    put_along(target, number, positions, _values(title, arr, values))
    if arr.size and target.ptr != arr.ptr:
        arr[...] = target.reshape(arr.shape)


def _indices(title: str, indices: Any) -> Any:
    """An array of integers on the host or on a device."""
    found = asarray(indices) if is_device_array(indices) else np.asarray(indices)
    if found.size == 0 and isinstance(found, np.ndarray) and not isinstance(indices, np.ndarray):
        found = found.astype(np.int64)
    if not np.can_cast(found.dtype, np.int64, "same_kind"):
        raise ArgumentTypeError(
            f"{title}: argument indices: expected integers, got {found.dtype}; convert them with "
            "astype(np.int64)"
        )
    if found.dtype == np.bool_:
        found = found.astype(np.int64)
    return found


def _values(title: str, target: Array, values: Any) -> Array:
    if not is_device_array(values):
        made: Array = empty(np.shape(values), target.dtype, device=target.device_index)
        made[...] = values
        return made
    found: Array = asarray(values)
    require_device(title, "values", found, target.device_index)
    return found if found.dtype == target.dtype else found.astype(target.dtype, casting="same_kind")


def _along(title: str, array: Array, axis: Any) -> tuple[Array, int]:
    """The array and the axis. Without an axis, the array is flattened and the axis is 0."""
    if axis is None:
        return array.reshape(-1), 0
    return array, axis_of(title, axis, array.ndim)


def _rows(title: str, array: Array, index: Any, axis: Any) -> tuple[Array, Any, int]:
    array, number = _along(title, array, axis)
    if index.ndim != array.ndim:
        raise ArgumentValueError(
            f"{title}: argument indices has {index.ndim} axes, the array {array.ndim}"
        )
    return array, index, number


def _without_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis:])


def _joint(title: str, array: Array, index: Any, axis: int) -> tuple[int, ...]:
    """The shape of all axes but one, to which the array and the indices broadcast."""
    try:
        return np.broadcast_shapes(
            _without_axis(array.shape, axis), _without_axis(index.shape, axis)
        )
    except ValueError:
        raise _misfit(title, array, index) from None


def _misfit(title: str, array: Array, index: Any) -> ArgumentValueError:
    return ArgumentValueError(
        f"{title}: argument indices has the shape {index.shape}, which does not fit the array's "
        f"{array.shape}"
    )


def _along_axis(
    title: str, array: Array, index: Any, axis: int, others: tuple[int, ...]
) -> Positions:
    """The positions along an axis that indices name for each row."""
    shape = _with_length(others, axis, index.shape[axis])
    if isinstance(index, np.ndarray):
        index = np.broadcast_to(index, shape)
    elif index.shape != shape:
        index = broadcast_to(index, shape)
    return Positions(title, [index], [axis], [array.shape[axis]], array.device_index)
