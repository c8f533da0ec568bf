# cupola/arrays/selection.py - elements and indices by conditions.
"""`where`, `nonzero`, `flatnonzero`, `argwhere`, `count_nonzero`, `compress` and `extract`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array, result
from cupola.arrays.choose import choose
from cupola.arrays.compaction import FOR_ELEMENTS, nonzero_of, select
from cupola.arrays.element_types import require_native
from cupola.arrays.gather import take_from
from cupola.arrays.plans import planned
from cupola.arrays.positions import Positions
from cupola.arrays.rows import array_of, axis_of, with_axis
from cupola.creation import empty, full, to_device
from cupola.exceptions import ArgumentValueError
from cupola.stream import refuse_captured

__all__ = ["argwhere", "compress", "count_nonzero", "extract", "flatnonzero", "nonzero", "where"]


@planned
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Elements of `x` where a condition is true, else of `y`; or the indices of true elements.

    Parameters
    ----------
    condition : Array
        Elements that are not 0 are true.
    x, y : Array or number, optional
        The three broadcast. Python's numbers take the other's type.

    Returns
    -------
    Array, or tuple of Array
        With `x` and `y` of their common type. Without them as from `nonzero`, which waits.
    """
    if (x is None) != (y is None):
        raise ArgumentValueError("where: give both x and y, or neither")
    if x is None:
        return nonzero(condition)
    if isinstance(condition, (bool, np.bool_)):
        devices = [one for one in (x, y) if is_device_array(one)]
        if devices:
            device = array_of("where", "x", devices[0]).device_index
            condition = full((), bool(condition), np.bool_, device=device)
    return choose("where", array_of("where", "condition", condition), x, y)


def nonzero(a: Any) -> tuple[Array, ...]:
    """The indices of the elements that are not 0, as ``numpy.nonzero``.

    Parameters
    ----------
    a : Array
        Of one axis or more.

    Returns
    -------
    tuple of Array
        For each axis the indices, of int64, in C order.

    Raises
    ------
    ArgumentValueError
        While the stream is being captured: the call waits for the count.
    """
    array = array_of("nonzero", "a", a)
    if array.ndim == 0:
        raise ArgumentValueError(
            "nonzero: argument a has no axes; use cupola.atleast_1d(a) if that is meant"
        )
    return nonzero_of(array.astype(np.bool_, copy=False), "nonzero")


def flatnonzero(a: Any) -> Array:
    """The indices, in C order, of the elements that are not 0; it waits as `nonzero` does.

    Returns
    -------
    Array
        Of int64.
    """
    array = array_of("flatnonzero", "a", a)
    return nonzero_of(array.reshape(-1).astype(np.bool_, copy=False), "flatnonzero")[0]


def argwhere(a: Any) -> Array:
    """The indices of the elements that are not 0, a row each; it waits as `nonzero` does.

    Returns
    -------
    Array
        Of int64 and the shape (count, axes of `a`).
    """
    array = array_of("argwhere", "a", a)
    if array.ndim == 0:
        found = nonzero_of(array.reshape(1).astype(np.bool_, copy=False), "argwhere")[0]
        return empty((found.size, 0), np.int64, device=array.device_index)
    columns = nonzero_of(array.astype(np.bool_, copy=False), "argwhere")
    made: Array = empty((columns[0].size, array.ndim), np.int64, device=array.device_index)
    for axis, column in enumerate(columns):
        made[:, axis] = column
    return made


@planned
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """The number of elements that are not 0, as an array of int64; it does not wait.

    Parameters
    ----------
    a : Array
    axis : None, int or tuple of int
    keepdims : bool
        Keep the axes, with a length of 1.
    """
    array = array_of("count_nonzero", "a", a)
    found: Array = array.astype(np.bool_, copy=False).sum(axis, np.int64, keepdims=keepdims)
    return found


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Array:
    """The slices along an axis for which a condition is true, as ``numpy.compress``.

    Parameters
    ----------
    condition : array_like or Array
        Along one axis, not longer than the array's. On a device, the call waits for the count.
    a : Array
    axis : int, optional
        By default the elements in C order.
    out : Array, optional

    Returns
    -------
    Array
    """
    array = array_of("compress", "a", a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    array = with_axis(array, axis)
    number = axis_of("compress", axis, array.ndim)
    on_device = is_device_array(condition)
    mask = array_of("compress", "condition", condition) if on_device else np.asarray(condition)
    if mask.ndim != 1:
        raise ArgumentValueError(f"compress: argument condition has {mask.ndim} axes, expected 1")
    size = array.shape[number]
    if on_device:
        mask = mask.astype(np.bool_, copy=False)
        if mask.size == size and array.ndim == 1:
            return result("compress", select(array, mask, "compress"), out)
    found = nonzero_of(mask, "compress", FOR_ELEMENTS)[0] if on_device else np.flatnonzero(mask)
    positions = Positions("compress", [found], [number], [size], array.device_index)
    return result("compress", take_from(array, number, positions), out)


def extract(condition: Any, arr: Any) -> Array:
    """The elements, in C order, where a condition is true, as ``numpy.extract``.

    Parameters
    ----------
    condition : array_like or Array
        Of the size of `arr`. On a device, the call waits for the count.
    arr : Array

    Returns
    -------
    Array
    """
    array = array_of("extract", "arr", arr)
    refuse_captured(array.device_index, "extract", FOR_ELEMENTS)
    if not is_device_array(condition):
        condition = to_device(np.asarray(condition, np.bool_), device=array.device_index)
    mask = array_of("extract", "condition", condition)
    require_native("extract", "arr", array)
    return compress(mask.reshape(-1), array.reshape(-1), 0)
