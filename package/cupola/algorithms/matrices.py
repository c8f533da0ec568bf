# cupola/algorithms/matrices.py - diagonals and triangles.
"""`diagonal`, `diag`, `tril` and `triu`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.algorithms.arguments import axes_of, integer_of
from cupola.algorithms.choose import choose
from cupola.algorithms.rows import array_of
from cupola.array import Array
from cupola.creation import arange, strided_view, zeros
from cupola.exceptions import ArgumentValueError


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Array:
    """A read-only view of diagonals, as ``numpy.diagonal``.

    Parameters
    ----------
    a : Array
        Of two axes or more.
    offset : int
        0 is the main diagonal; above it offsets are positive.
    axis1, axis2 : int

    Returns
    -------
    Array
        The other axes, and then that of the diagonal.
    """
    view = _diagonal("diagonal", array_of("diagonal", "a", a), offset, axis1, axis2)
    found: Array = strided_view(view, view.shape, view.strides, readonly=True)
    return found


def _diagonal(title: str, array: Array, offset: Any, axis1: Any, axis2: Any) -> Array:
    if array.ndim < 2:
        raise ArgumentValueError(f"{title}: argument a has {array.ndim} axes, expected two or more")
    by = integer_of(title, "offset", offset)
    rows, columns = axes_of(title, (axis1, axis2), array.ndim)
    key = [slice(None)] * array.ndim
    key[columns if by > 0 else rows] = slice(abs(by), None)
    part = array[tuple(key)]
    others = [at for at in range(array.ndim) if at not in (rows, columns)]
    length = min(part.shape[rows], part.shape[columns])
    step = part.strides[rows] + part.strides[columns]
    view: Array = strided_view(
        part,
        (*[part.shape[at] for at in others], length),
        (*[part.strides[at] for at in others], step),
    )
    return view


def diag(v: Any, k: Any = 0) -> Array:
    """A diagonal as a new array, or a matrix with a diagonal, as ``numpy.diag``.

    Parameters
    ----------
    v : Array
        A matrix; or, with one axis, the elements of a diagonal.
    k : int
        As `offset` of `diagonal`.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    array = array_of("diag", "v", v)
    if array.ndim == 2:
        return _diagonal("diag", array, k, 0, 1).copy()
    if array.ndim != 1:
        raise ArgumentValueError(f"diag: argument v has {array.ndim} axes, expected 1 or 2")
    n = array.size + abs(integer_of("diag", "k", k))
    made: Array = zeros((n, n), array.dtype, device=array.device_index)
    _diagonal("diag", made, k, 0, 1)[...] = array
    return made


def tril(m: Any, k: Any = 0) -> Array:
    """A copy with 0 above a diagonal, as ``numpy.tril``; `k` as `offset` of `diagonal`."""
    array = array_of("tril", "m", m)
    return choose("tril", _below("tril", array, k), array, np.zeros((), array.dtype)[()])


def triu(m: Any, k: Any = 0) -> Array:
    """A copy with 0 below a diagonal, as ``numpy.triu``; `k` as `offset` of `diagonal`."""
    array = array_of("triu", "m", m)
    by = integer_of("triu", "k", k) - 1
    return choose("triu", _below("triu", array, by), np.zeros((), array.dtype)[()], array)


def _below(title: str, array: Array, k: Any) -> Array:
    """Whether an element of a matrix is on a diagonal or below it."""
    by = integer_of(title, "k", k)
    if array.ndim == 0:
        raise ArgumentValueError(f"{title}: argument m has no axes")
    rows, columns = array.shape[-2] if array.ndim > 1 else array.shape[0], array.shape[-1]
    row = arange(rows, device=array.device_index)
    column = arange(columns, device=array.device_index)
    found: Array = row[:, None] + by >= column[None]
    return found
