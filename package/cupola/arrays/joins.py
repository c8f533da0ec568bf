# cupola/arrays/joins.py - one array of several.
"""`concatenate`, `stack` and functions over them: a copy on the device for each array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array, require_device, require_writable
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, axis_of
from cupola.arrays.shapes import atleast_1d, atleast_2d, atleast_3d, expand_dims
from cupola.creation import asarray, empty, to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["append", "column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"]


@planned
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> Array:  # fmt: skip
    """Join arrays along an axis, as ``numpy.concatenate``.

    Parameters
    ----------
    arrays : sequence of Array
        Of one device, and equal shapes except along the axis.
    axis : int or None
        None: the flattened arrays.
    out : Array, optional
        Of the result's shape; it shares no memory with the arrays.
    dtype : data-type, optional
        By default the arrays' common type.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}

    Returns
    -------
    Array
        A new array in C order, or `out`. The work is queued on the current stream.
    """
    return _joined("concatenate", _listed("concatenate", arrays), axis, out, dtype, casting)


def _joined(
    title: str, arrays: Sequence[Array], axis: Any, out: Any, dtype: Any, casting: str
) -> Array:
    if axis is None:
        arrays, axis = [one.reshape(-1) for one in arrays], 0
    first = arrays[0]
    if first.ndim == 0:
        raise ArgumentValueError(f"{title}: arrays without axes can't be joined; use cupola.stack")
    number = axis_of(title, axis, first.ndim)
    for one in arrays[1:]:
        if one.ndim != first.ndim or any(
            at != number and length != first.shape[at] for at, length in enumerate(one.shape)
        ):
            raise ArgumentValueError(
                f"{title}: the arrays must have equal shapes except along axis {number}, got "
                f"{first.shape} and {one.shape}"
            )
    length = sum([one.shape[number] for one in arrays])
    shape = (*first.shape[:number], length, *first.shape[number + 1 :])
    target = _target(title, arrays, shape, out, dtype)
    for one in arrays:
        if not np.can_cast(one.dtype, target.dtype, casting):
            raise ArgumentTypeError(
                f"{title}: elements of {one.dtype} can't be cast to {target.dtype} by the rule "
                f"{casting!r}"
            )
    begin = 0
    for one in arrays:
        end = begin + one.shape[number]
        part = target[(slice(None),) * number + (slice(begin, end),)]
        if one.size:
            part[...] = one if one.dtype == target.dtype else one.astype(target.dtype)
        begin = end
    return target


def _target(
    title: str, arrays: Sequence[Array], shape: tuple[int, ...], out: Any, dtype: Any
) -> Array:
    if out is not None:
        if dtype is not None:
            raise ArgumentTypeError(f"{title}: give either out or dtype")
        require_writable(title, "out", out)
        if out.shape != shape:
            raise ArgumentValueError(
                f"{title}: argument out has the shape {out.shape}, the result {shape}"
            )
        found: Array = out
        return found
    try:
        kind = np.dtype(dtype) if dtype is not None else np.result_type(*[a.dtype for a in arrays])
    except TypeError as error:
        raise ArgumentTypeError(f"{title}: the arrays have no common type: {error}") from None
    made: Array = empty(shape, kind, device=arrays[0].device_index)
    return made


def _listed(title: str, arrays: Any) -> list[Array]:
    if isinstance(arrays, Array):
        arrays = [arrays[at] for at in range(len(arrays))]
    try:
        found = [array_of(title, f"arrays[{at}]", one) for at, one in enumerate(arrays)]
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(
            f"{title}: argument arrays: expected a sequence of arrays, got a "
            f"{type(arrays).__name__}"
        ) from None
    if not found:
        raise ArgumentValueError(f"{title}: expected at least one array")
    for at, one in enumerate(found):
        require_device(title, f"arrays[{at}]", one, found[0].device_index)
    return found


@planned
def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Array:
    """Join arrays of one shape along a new axis, as ``numpy.stack``.

    Parameters
    ----------
    arrays : sequence of Array
    axis : int
        The new axis in the result.
    out, dtype, casting : optional
        As for `concatenate`.

    Returns
    -------
    Array
    """
    found = _listed("stack", arrays)
    for one in found[1:]:
        if one.shape != found[0].shape:
            raise ArgumentValueError(
                f"stack: the arrays must have equal shapes, got {found[0].shape} and {one.shape}"
            )
    number = axis_of("stack", axis, found[0].ndim + 1)
    views = [expand_dims(one, number) for one in found]
    return _joined("stack", views, number, out, dtype, casting)


@planned
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Join arrays along the first axis; arrays of one axis are rows. See `concatenate`."""
    views = [atleast_2d(one) for one in _listed("vstack", tup)]
    return _joined("vstack", views, 0, None, dtype, casting)


@planned
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Join arrays along the second axis; arrays of one axis along it. See `concatenate`."""
    views = [atleast_1d(one) for one in _listed("hstack", tup)]
    return _joined("hstack", views, int(views[0].ndim != 1), None, dtype, casting)


@planned
def dstack(tup: Any) -> Array:
    """Join arrays along the third axis; others get axes as by `atleast_3d`."""
    views = [atleast_3d(one) for one in _listed("dstack", tup)]
    return _joined("dstack", views, 2, None, None, "same_kind")


@planned
def column_stack(tup: Any) -> Array:
    """Join arrays along the second axis; arrays of one axis are columns."""
    listed = _listed("column_stack", tup)
    views = [one[:, None] if one.ndim == 1 else atleast_2d(one) for one in listed]
    return _joined("column_stack", views, 1, None, None, "same_kind")


@planned
def append(arr: Any, values: Any, axis: Any = None) -> Array:
    """The array with others behind it, as ``numpy.append``.

    Parameters
    ----------
    arr : Array
    values : number, array_like or Array
        Values on the host are copied to the array's device.
    axis : int, optional
        By default both are flattened.

    Returns
    -------
    Array
        A new array.
    """
    array = array_of("append", "arr", arr)
    new = (
        asarray(values) if is_device_array(values) else to_device(values, device=array.device_index)
    )
    require_device("append", "values", new, array.device_index)
    return _joined("append", [array, new], axis, None, None, "same_kind")
