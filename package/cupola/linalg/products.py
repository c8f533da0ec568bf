# cupola/linalg/products.py - products of vectors and matrices, by the names of numpy.linalg.
"""Products, powers, diagonals and traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cupola
from cupola.array import Array
from cupola.arrays.arguments import integer_of, result
from cupola.arrays.matrices import identity_like
from cupola.arrays.products import matmul as _matmul
from cupola.arrays.products import tensordot as _tensordot
from cupola.arrays.rows import array_of, axis_of
from cupola.exceptions import ArgumentValueError


def matmul(x1: Any, x2: Any, /) -> Array:
    """`cupola.matmul`, as ``numpy.linalg.matmul``."""
    return _matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """`cupola.tensordot`, as ``numpy.linalg.tensordot``."""
    return _tensordot(x1, x2, axes)


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of all pairs of elements of two vectors, as ``numpy.linalg.outer``."""
    one, other = array_of("linalg.outer", "x1", x1), array_of("linalg.outer", "x2", x2)
    if one.ndim != 1 or other.ndim != 1:
        raise ArgumentValueError(
            f"linalg.outer: expected two arrays of one axis, got {one.ndim} and {other.ndim} axes; "
            "cupola.outer flattens its arguments"
        )
    return cupola.outer(one, other)


def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Array:
    """Sums of products along an axis, those of `x1` conjugated, as ``numpy.linalg.vecdot``.

    Parameters
    ----------
    x1, x2 : Array
        With as many elements along the axis; other axes broadcast.
    axis : int

    Returns
    -------
    Array
        Of NumPy's common type.
    """
    one, other = array_of("linalg.vecdot", "x1", x1), array_of("linalg.vecdot", "x2", x2)
    first = axis_of("linalg.vecdot", axis, one.ndim)
    second = axis_of("linalg.vecdot", axis, other.ndim)
    if one.shape[first] != other.shape[second]:
        raise ArgumentValueError(
            f"linalg.vecdot: axis {axis} has {one.shape[first]} and {other.shape[second]} elements"
        )
    one, other = cupola.moveaxis(one, first, -1), cupola.moveaxis(other, second, -1)
    conjugated = np.conjugate(one) if one.dtype.kind == "c" else one
    if one.ndim == other.ndim == 1:
        return conjugated.dot(other)
    kind = np.result_type(one.dtype, other.dtype)
    return (conjugated * other).sum(axis=-1, dtype=kind)


def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Array:
    """Cross products of vectors of three elements, as ``numpy.linalg.cross``.

    Parameters
    ----------
    x1, x2 : Array
        With three elements along the axis; other axes broadcast.
    axis : int

    Returns
    -------
    Array
    """
    return cupola.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: Any = 0) -> Array:
    """A read-only view of the diagonals of the last two axes, as ``numpy.linalg.diagonal``."""
    return cupola.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Array:
    """Sums of the diagonals of the last two axes, as ``numpy.linalg.trace``."""
    return cupola.trace(x, offset, -2, -1, dtype)


def matrix_transpose(x: Any, /) -> Array:
    """A view with the last two axes exchanged, as ``numpy.linalg.matrix_transpose``."""
    array = array_of("linalg.matrix_transpose", "x", x)
    if array.ndim < 2:
        raise ArgumentValueError(
            f"linalg.matrix_transpose: argument x has {array.ndim} axes, expected two or more"
        )
    return array.mT


def matrix_power(a: Any, n: Any) -> Array:
    """The product of a square matrix with itself, as ``numpy.linalg.matrix_power``.

    Parameters
    ----------
    a : Array
        A stack of square matrices.
    n : int
        At least 0. Negative powers need the inverse, which cupola does not compute.

    Returns
    -------
    Array
        Of the type of `a`, queued on the current stream.
    """
    array = array_of("linalg.matrix_power", "a", a)
    power = integer_of("linalg.matrix_power", "n", n)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ArgumentValueError(
            f"linalg.matrix_power: argument a: expected square matrices, got shape {array.shape}"
        )
    if power < 0:
        raise ArgumentValueError(
            f"linalg.matrix_power: argument n is negative: {power}; it needs the inverse, which "
            "cupola does not compute: invert a host copy, numpy.linalg.inv(a.get())"
        )
    if power == 0:
        return identity_like(array)
    found: Array | None = None
    square = array
    while True:
        if power & 1:
            found = square if found is None else _matmul(found, square)
        power >>= 1
        if not power:
            return found.copy() if found is array else found
        square = _matmul(square, square)


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of several matrices in the cheapest order, as ``numpy.linalg.multi_dot``.

    Parameters
    ----------
    arrays : sequence of Array
        Two or more matrices; the first one may be a row and the last one a column, of one axis.
    out : Array, optional
        Of the result's shape, and of a type of the same kind.

    Returns
    -------
    Array
        Queued on the current stream.
    """
    title = "linalg.multi_dot"
    listed = [array_of(title, f"arrays[{at}]", one) for at, one in enumerate(arrays)]
    if len(listed) < 2:
        raise ArgumentValueError(f"{title}: expected at least two arrays, got {len(listed)}")
    row, column = listed[0].ndim == 1, listed[-1].ndim == 1
    if row:
        listed[0] = listed[0].reshape(1, -1)
    if column:
        listed[-1] = listed[-1].reshape(-1, 1)
    for at, one in enumerate(listed):
        if one.ndim != 2:
            raise ArgumentValueError(
                f"{title}: argument arrays[{at}]: expected a matrix, got {one.ndim} axes"
            )
    made = _product(listed, _splits([one.shape[0] for one in listed] + [listed[-1].shape[1]]))
    shape = made.shape[int(row) : made.ndim - int(column)]
    return result(title, made.reshape(shape), out)


def _splits(lengths: list[int]) -> dict[tuple[int, int], int]:
    """Where the product of each run of matrices is split, for the fewest multiplications.

    Matrix k has ``lengths[k]`` rows and ``lengths[k + 1]`` columns. A run is [first, end).
    """
    count = len(lengths) - 1
    cost = {(at, at + 1): 0 for at in range(count)}
    found = {}
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            end = first + length
            cost[first, end], found[first, end] = min(
                (
                    cost[first, at] + cost[at, end] + lengths[first] * lengths[at] * lengths[end],
                    at,
                )
                for at in range(first + 1, end)
            )
    return found


def _product(arrays: list[Array], splits: dict[tuple[int, int], int]) -> Array:
    def of(first: int, end: int) -> Array:
        if end == first + 1:
            return arrays[first]
        at = splits[first, end]
        return _matmul(of(first, at), of(at, end))

    return of(0, len(arrays))
