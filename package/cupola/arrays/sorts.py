# cupola/arrays/sorts.py - sort, argsort and lexsort.
"""Sorted arrays, by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.key_sorts import argsort_rows, gather, resort
from cupola.arrays.plans import planned
from cupola.arrays.radix_sort import sort_rows
from cupola.arrays.rows import Rows, array_of, rows_of, with_axis
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["argsort", "lexsort", "sort"]

_KINDS = {"q": "quicksort", "h": "heapsort", "m": "mergesort", "s": "stable"}
_OF_INDICES = ("argsort", "argpartition", "lexsort")


@planned
def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None, *,
    stable: bool | None = None,
) -> Array:  # fmt: skip
    """A sorted copy of an array.

    The sort is stable. NaN are last, and -0.0 is equal to 0.0; complex numbers have NumPy's order.
    The work is queued on the current stream.

    Parameters
    ----------
    a : Array
        Of bool, integers, floats or complex numbers.
    axis : int or None, optional
        The axis to sort along; None sorts the flattened array.
    kind : {"quicksort", "mergesort", "heapsort", "stable"}, optional
        For NumPy's signature: all are one stable radix sort.
    order : None
        Fields of structured arrays are not supported.
    stable : bool, optional
        For NumPy's signature.

    Returns
    -------
    Array
        Of the type of `a`, and of its shape; of one axis where `axis` is None.

    Raises
    ------
    ArgumentTypeError
        Where `a` is no array of a device, or its elements have no order here.
    ArgumentValueError
        Where there is no such axis or kind.
    """
    rows = rows_to_sort("sort", a, axis, kind, order, stable)
    return rows.restored(sorted_rows(rows.x))


@planned
def argsort(
    a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None, *,
    stable: bool | None = None,
) -> Array:  # fmt: skip
    """The indices that sort an array, as int64.

    The parameters, order and errors are those of `sort`. Indices of equal elements are ascending.

    Returns
    -------
    Array
        Of int64, of the shape of the result of `sort`.
    """
    rows = rows_to_sort("argsort", a, axis, kind, order, stable)
    return rows.restored(sorting_indices(rows.x))


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The indices that sort by several keys, of which the last is the first to compare.

    Parameters
    ----------
    keys : sequence of Array, or Array
        Of one shape; those of an array are along its first axis.
    axis : int, optional
        The axis to sort along.

    Returns
    -------
    Array
        Of int64 and the shape of a key. Indices of equal keys are ascending.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        As for `sort`, or where there are no keys or they have several shapes.
    """
    listed = list(keys)
    if axis is None:
        raise ArgumentTypeError("lexsort: argument axis: expected an int, got None")
    if not listed:
        raise ArgumentTypeError("lexsort: argument keys: expected at least one key, got none")
    every = [rows_to_sort("lexsort", key, axis, None, None, None) for key in listed]
    shapes = {array_of("lexsort", "keys", key).shape for key in listed}
    if len(shapes) > 1:
        raise ArgumentValueError(f"lexsort: argument keys: expected one shape, got {shapes}")
    indices = sorting_indices(every[0].x)
    for rows in every[1:]:
        if rows.x.size:
            first, indices = indices, _empty(rows.x, np.int64)
            resort(rows.x, first, indices)
    return every[0].restored(indices).reshape(shapes.pop())


def sorted_rows(x: Array, *, waits: bool = False) -> Array:
    """A contiguous array with sorted rows; `waits` as for `sort_rows`."""
    out = _empty(x, x.dtype)
    if x.dtype.kind == "c":
        gather(x, sorting_indices(x), out)
    else:
        sort_rows(x, out, None, waits=waits)
    return out


def sorting_indices(x: Array) -> Array:
    """The indices that sort the rows of a contiguous array."""
    indices = _empty(x, np.int64)
    argsort_rows(x, indices)
    return indices


def _empty(x: Array, dtype: Any) -> Array:
    return empty(x.shape, dtype, device=x.device_index)


def rows_to_sort(function: str, a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> Rows:
    """The rows of the arguments of `sort`, or of a function with such arguments.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        As `sort` does.
    """
    name = "keys" if function == "lexsort" else "a"
    x = array_of(function, name, a)
    if order is not None:
        raise ArgumentTypeError(
            f"{function}: argument order: fields of structured arrays are not sorted on a device; "
            f"sort one field: cupola.{function}(a.field(name))"
        )
    if kind is not None and (not isinstance(kind, str) or kind[:1].lower() not in _KINDS):
        raise ArgumentValueError(
            f"{function}: argument kind: expected one of {', '.join(_KINDS.values())}, got {kind!r}"
        )
    if kind is not None and stable is not None:
        raise ArgumentValueError(f"{function}: give kind= or stable=, not both")
    # Of NumPy's sorts, only those that return indices take an array without axes.
    return rows_of(function, with_axis(x, axis) if function in _OF_INDICES else x, axis)
