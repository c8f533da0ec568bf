# cupola/arrays/searching.py - places of values among sorted ones.
"""`searchsorted` and `digitize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.arguments import current_values, is_device_array, require_device
from cupola.arrays.launching import launch
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, packed
from cupola.creation import asarray, empty, full
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["digitize", "searchsorted"]

# The part of kernels' names for a type.
ELEMENTS = {
    "?": "u8", "b": "i8", "h": "i16", "i": "i32", "l": "i64", "q": "i64", "B": "u8", "H": "u16",
    "I": "u32", "L": "u64", "Q": "u64", "e": "f16", "f": "f32", "d": "f64", "F": "c64", "D": "c128",
}  # fmt: skip


@planned
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Where values would be put into a sorted array, as ``numpy.searchsorted``.

    Parameters
    ----------
    a : Array
        With one axis, in ascending order; NaN is last.
    v : Array or number
        Values of any shape. Both are converted to their common type.
    side : {"left", "right"}
        The first suitable place, or the one after the last equal element.
    sorter : Array or array_like of integers, optional
        Indices that sort `a`, as from `argsort`.

    Returns
    -------
    Array
        Of int64 and the shape of `v`. The work is queued on the current stream.
    """
    array = array_of("searchsorted", "a", a)
    if array.ndim != 1:
        raise ArgumentValueError(f"searchsorted: argument a has {array.ndim} axes, expected 1")
    if side not in ("left", "right"):
        raise ArgumentValueError(f"searchsorted: argument side is 'left' or 'right', got {side!r}")
    order = None if sorter is None else _order(array, sorter)
    device = array.device_index
    if isinstance(v, (bool, int, float, complex, np.generic)):
        number = np.asarray(v)
        v = full((), number[()], number.dtype, device=device)
    values = array_of("searchsorted", "v", v)
    require_device("searchsorted", "v", values, device)
    return searched("searchsorted", array, values, side == "right", order)


def searched(title: str, array: Array, values: Array, right: bool, order: Array | None) -> Array:
    """The places of values; see `searchsorted`."""
    common = np.result_type(array.dtype, values.dtype)
    if common.char not in ELEMENTS:
        raise ArgumentTypeError(f"{title}: elements of {common} are not supported")
    out: Array = empty(values.shape, np.int64, device=array.device_index)
    if out.size:
        sorted_there, sought = [packed(as_type(one, common)) for one in (array, values)]
        launch(
            "search", f"search_sorted_{ELEMENTS[common.char]}", array.device_index, out.size,
            sorted_there, sought, order, out, array.size, out.size, int(right),
        )  # fmt: skip
    return out


def as_type(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array itself, or its elements converted."""
    return array if array.dtype == dtype else array.astype(dtype)


def _order(array: Array, sorter: Any) -> Array:
    order = asarray(sorter) if is_device_array(sorter) else np.asarray(sorter)
    if order.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"searchsorted: argument sorter: expected integers, got {order.dtype}"
        )
    if order.shape != array.shape:
        raise ArgumentValueError(
            f"searchsorted: argument sorter has the shape {order.shape}, and a {array.shape}"
        )
    if isinstance(order, np.ndarray):
        order = current_values(order, array.device_index)
    require_device("searchsorted", "sorter", order, array.device_index)
    return packed(as_type(order, np.dtype(np.int64)))


@planned
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """The bin of each value, as ``numpy.digitize``.

    Parameters
    ----------
    x : Array
    bins : array_like or Array
        Edges in ascending or descending order. Edges on a device are copied to the host, and the
        call waits for them.
    right : bool
        Whether bins have their right edge, and not their left one.

    Returns
    -------
    Array
        Of int64 and the shape of `x`.
    """
    values = array_of("digitize", "x", x)
    if isinstance(bins, Array):
        bins = read_now(bins, "digitize: argument bins")
    edges = np.asarray(bins)
    if edges.ndim != 1:
        raise ArgumentValueError(f"digitize: argument bins has {edges.ndim} axes, expected 1")
    ascending = bool((edges[1:] >= edges[:-1]).all())
    if not ascending and not (edges[1:] <= edges[:-1]).all():
        raise ArgumentValueError("digitize: argument bins is neither ascending nor descending")
    there = current_values(edges if ascending else edges[::-1], values.device_index)
    found = searched("digitize", there, values, not right, None)
    return found if ascending else edges.size - found
