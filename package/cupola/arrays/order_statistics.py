# cupola/arrays/order_statistics.py - the greatest and least elements: top_k and partition.
"""Elements by their place in the order, found by sorts."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.plans import planned
from cupola.arrays.radix_sort import sort_rows
from cupola.arrays.rows import Rows, array_of, axis_of, rows_of
from cupola.arrays.sorts import rows_to_sort, sorted_rows, sorting_indices
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["argpartition", "partition", "top_k"]


@planned
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """A copy whose elements `kth` are in their sorted places: all elements are.

    Parameters
    ----------
    a : Array
        As for `sort`.
    kth : int or sequence of int
        On the host.
    axis : int or None, optional
        As for `sort`.
    kind : {"introselect"}, optional
    order : None
        As for `sort`.

    Returns
    -------
    Array
        The result of `sort`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        As for `sort`, or where `kth` is out of range.
    """
    rows = _parts("partition", a, kth, axis, kind, order)
    return rows.restored(sorted_rows(rows.x))


@planned
def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The indices of `partition`: the result of `argsort`, with the parameters of `partition`."""
    rows = _parts("argpartition", a, kth, axis, kind, order)
    return rows.restored(sorting_indices(rows.x))


def top_k(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    """The `k` greatest elements along an axis, in descending order, and their indices.

    A NaN is greater than all numbers. Of equal elements, those with the least indices are first.
    The work, a sort, is queued on the current stream.

    Parameters
    ----------
    x : Array
        Of bool, integers or floats.
    k : int
        At most the length of the axis.
    axis : int, optional
    largest : bool, optional
        False: the least elements, in ascending order.

    Returns
    -------
    values : Array
        Of the type of `x`; the axis has the length `k`.
    indices : Array
        Of int64, and of the shape of `values`.

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type.
    ArgumentValueError
        Where there is no such axis, or `k` is out of range.
    """
    array = array_of("top_k", "x", x)
    rows = rows_of("top_k", array, axis_of("top_k", axis, array.ndim))
    try:
        k = operator.index(k)
    except TypeError:
        raise ArgumentTypeError(f"top_k: argument k: expected an int, got {k!r}") from None
    if not 0 <= k <= rows.n:
        raise ArgumentValueError(
            f"top_k: argument k: expected at most {rows.n}, the length of axis {rows.axis}, got {k}"
        )
    values, indices = (
        empty(rows.x.shape, dtype, device=rows.x.device_index) for dtype in (array.dtype, np.int64)
    )
    sort_rows(rows.x, values, indices, descending=bool(largest))
    kept = rows._replace(
        shape=tuple(k if one == rows.axis else length for one, length in enumerate(rows.shape))
    )
    return kept.restored(values[..., :k].copy()), kept.restored(indices[..., :k].copy())


def _parts(function: str, a: Any, kth: Any, axis: Any, kind: Any, order: Any) -> Rows:
    if kind != "introselect":
        raise ArgumentValueError(f"{function}: argument kind: expected 'introselect', got {kind!r}")
    rows = rows_to_sort(function, a, axis, None, order, None)
    places = np.asarray(kth)
    if places.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{function}: argument kth: expected integers, got {kth!r}")
    if rows.x.size and not np.all((places >= -rows.n) & (places < rows.n)):
        raise ArgumentValueError(
            f"{function}: argument kth: {kth} is out of bounds for {rows.n} elements"
        )
    return rows
