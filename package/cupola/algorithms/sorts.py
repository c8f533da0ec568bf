# cupola/algorithms/sorts.py - sort and argsort.
"""Sorted arrays, by NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.algorithms.radix_sort import sort_rows
from cupola.algorithms.rows import Rows, array_of, rows_of
from cupola.array import Array
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

_KINDS = {"q": "quicksort", "h": "heapsort", "m": "mergesort", "s": "stable"}


def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None, *,
    stable: bool | None = None,
) -> Array:  # fmt: skip
    """A sorted copy of an array.

    The sort is stable. NaN are last, and -0.0 is equal to 0.0. The work is queued on the current
    stream.

    Parameters
    ----------
    a : Array
        Of bool, integers or floats.
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
    rows = _rows("sort", a, axis, kind, order, stable)
    out = empty(rows.x.shape, rows.x.dtype, device=rows.x.device_index)
    sort_rows(rows.x, out, None)
    return rows.restored(out)


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
    rows = _rows("argsort", a, axis, kind, order, stable)
    indices = empty(rows.x.shape, np.int64, device=rows.x.device_index)
    sort_rows(rows.x, None, indices)
    return rows.restored(indices)


def _rows(function: str, a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> Rows:
    x = array_of(function, "a", a)
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
    require_order(function, "a", x)
    return rows_of(function, x, axis)


def require_order(function: str, name: str, x: Array) -> None:
    """Check that there is an order of the elements.

    Raises
    ------
    ArgumentTypeError
        Where there is none.
    """
    if x.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            f"{function}: argument {name}: expected bool, integers or floats, got {x.dtype}"
        )
