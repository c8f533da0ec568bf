# cupola/linalg/norms.py - norms of vectors and matrices.
"""`norm`, `vector_norm` and `matrix_norm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import axes_of
from cupola.arrays.element_types import NUMBERS, require_elements
from cupola.arrays.rows import array_of
from cupola.exceptions import ArgumentValueError

_OF_SINGULAR_VALUES = (2, -2, "nuc")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of a vector or a matrix, as ``numpy.linalg.norm``.

    Parameters
    ----------
    x : Array
        Of numbers.
    ord : {None, number, "fro"}
        Of a vector: the sum of powers with this exponent, to its inverse; infinity is the greatest
        absolute value, -infinity the least, 0 the number of elements that are not 0. Of a matrix:
        "fro", the root of the sum of squares; 1 and -1, the greatest and least sum of a column;
        infinity and -infinity, of a row. None is the root of the sum of squares.
    axis : int or pair of int, optional
        One axis of vectors, or two of matrices. By default the axes of the array, or all elements
        where `ord` is None.
    keepdims : bool
        Whether the axes stay, with the length 1.

    Returns
    -------
    Array
        Real; of float64 for integers. It is queued on the current stream.

    Raises
    ------
    ArgumentValueError
        For an order that there is none of, and for the orders 2, -2 and "nuc" of a matrix, which
        need singular values.
    """
    title = "linalg.norm"
    array = _inexact(title, x)
    if axis is None:
        if ord is None or (ord == 2 and array.ndim == 1) or (ord == "fro" and array.ndim == 2):
            return _root_of_squares(array, tuple(range(array.ndim)), keepdims)
        axes = tuple(range(array.ndim))
    else:
        axes = axes_of(title, axis, array.ndim)
    if len(axes) == 1:
        return _vector_norms(title, array, axes, ord, keepdims)
    if len(axes) == 2:
        return _matrix_norms(title, array, axes, ord, keepdims)
    raise ArgumentValueError(f"{title}: expected one axis or two, got {len(axes)}")


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norms of vectors, as ``numpy.linalg.vector_norm``.

    Parameters
    ----------
    x : Array
    axis : int or tuple of int, optional
        The axes whose elements are a vector, by default all.
    keepdims : bool
    ord : number
        As of `norm`.

    Returns
    -------
    Array
    """
    title = "linalg.vector_norm"
    array = _inexact(title, x)
    axes = tuple(range(array.ndim)) if axis is None else axes_of(title, axis, array.ndim)
    return _vector_norms(title, array, axes, ord, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of the matrices of the last two axes, as ``numpy.linalg.matrix_norm``.

    Parameters
    ----------
    x : Array
        Of two axes or more.
    keepdims : bool
    ord : {"fro", 1, -1, inf, -inf}
        As of `norm`.

    Returns
    -------
    Array
    """
    title = "linalg.matrix_norm"
    array = _inexact(title, x)
    axes = axes_of(title, (-2, -1), array.ndim)
    return _matrix_norms(title, array, axes, ord, keepdims)


def _inexact(title: str, x: Any) -> Array:
    array = array_of(title, "x", x)
    require_elements(title, "x", array, NUMBERS)
    found: Array = array if array.dtype.kind in "fc" else array.astype(np.float64)
    return found


def _root_of_squares(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    real = np.dtype(x.dtype.char.lower())
    wide = np.float32 if real == np.float16 else real  # squares of float16 overflow soon
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x.astype(wide, copy=False)]
    if len(axes) == x.ndim:
        flat = [part.reshape(-1) for part in parts]
        squares = [part.dot(part) for part in flat]
        shape: tuple[int, ...] = (1,) * x.ndim if keepdims else ()
        squares = [square.reshape(shape) for square in squares]
    else:
        squares = [(part * part).sum(axes, keepdims=keepdims) for part in parts]
    total = squares[0] + squares[1] if len(squares) == 2 else squares[0]
    found: Array = np.sqrt(total).astype(real, copy=False)
    return found


def _vector_norms(title: str, x: Array, axes: tuple[int, ...], order: Any, keepdims: bool) -> Array:
    if order is None or order == 2:
        return _root_of_squares(x, axes, keepdims)
    if isinstance(order, str) or not np.isscalar(order):
        raise ArgumentValueError(
            f"{title}: argument ord: expected a number for vectors, got {order!r}"
        )
    real = np.dtype(x.dtype.char.lower())
    if order == 0:
        return np.not_equal(x, 0).astype(real).sum(axes, keepdims=keepdims)
    absolute = np.absolute(x)
    if order == np.inf:
        return absolute.max(axes, keepdims=keepdims)
    if order == -np.inf:
        return absolute.min(axes, keepdims=keepdims)
    if order == 1:
        return absolute.sum(axes, keepdims=keepdims)
    total = np.power(absolute, float(order)).sum(axes, keepdims=keepdims)
    found: Array = np.power(total, 1 / float(order))
    return found


def _matrix_norms(title: str, x: Array, axes: tuple[int, ...], order: Any, keepdims: bool) -> Array:
    rows, columns = axes
    if order in (None, "fro", "f"):
        return _root_of_squares(x, axes, keepdims)
    if np.isscalar(order) and order in _OF_SINGULAR_VALUES:
        raise ArgumentValueError(
            f"{title}: the order {order!r} of a matrix needs its singular values, which cupola "
            f"does not compute: use numpy.{title}(x.get(), ...), or one of 'fro', 1, -1, inf, -inf"
        )
    axes_of_order = {1: rows, -1: rows, np.inf: columns, -np.inf: columns}
    summed = axes_of_order.get(order) if np.isscalar(order) else None
    if summed is None:
        raise ArgumentValueError(
            f"{title}: argument ord: expected 'fro', 1, -1, inf or -inf for matrices, got {order!r}"
        )
    sums = np.absolute(x).sum(summed, keepdims=True)
    left = columns if summed == rows else rows
    found = sums.max(left, keepdims=True) if order > 0 else sums.min(left, keepdims=True)
    if keepdims:
        return found
    shape = [n for axis, n in enumerate(found.shape) if axis not in axes]
    return found.reshape(tuple(shape))
