# cupola/arrays/matrices.py - diagonals and triangles.
"""`diagonal`, `diag`, `trace`, `cross`, `tril` and `triu`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import axes_of, integer_of, require_device
from cupola.arrays.launching import launch, widest
from cupola.arrays.layouts import as_words, broadcast_to
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, axis_of
from cupola.arrays.shapes import moveaxis
from cupola.creation import empty, strided_view, zeros
from cupola.exceptions import ArgumentValueError

__all__ = ["cross", "diag", "diagonal", "trace", "tril", "triu"]


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


@planned
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


@planned
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Array:
    """Sums of diagonals, as ``numpy.trace``.

    Parameters
    ----------
    a : Array
        Of two axes or more.
    offset, axis1, axis2 : int
        As of `diagonal`.
    dtype : data-type, optional
        As of `Array.sum`.
    out : Array, optional

    Returns
    -------
    Array
        Of the other axes, queued on the current stream.
    """
    view = _diagonal("trace", array_of("trace", "a", a), offset, axis1, axis2)
    return view.sum(-1, dtype, out)


def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Array:
    """Cross products of vectors of three elements, as ``numpy.cross``.

    Parameters
    ----------
    a, b : Array
        With three elements along an axis; other axes broadcast. Vectors of two elements raise an
        error.
    axisa, axisb, axisc : int
        The axis of vectors in `a`, in `b` and in the result.
    axis : int, optional
        All three.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = array_of("cross", "a", a), array_of("cross", "b", b)
    require_device("cross", "b", y, x.device_index)
    x = moveaxis(x, axis_of("cross", axisa, x.ndim), -1)
    y = moveaxis(y, axis_of("cross", axisb, y.ndim), -1)
    for name, one in (("a", x), ("b", y)):
        if one.shape[-1] != 3:
            raise ArgumentValueError(
                f"cross: argument {name}: expected vectors of 3 elements, got {one.shape[-1]}"
            )
    shape = np.broadcast_shapes(x.shape, y.shape)
    made: Array = empty(shape, np.result_type(x.dtype, y.dtype), device=x.device_index)
    for to in range(3):
        one, other = (to + 1) % 3, (to + 2) % 3
        made[..., to] = x[..., one] * y[..., other] - x[..., other] * y[..., one]
    place = axis_of("cross", axisc, made.ndim)
    return made if place == made.ndim - 1 else moveaxis(made, -1, place).copy()


def identity_like(array: Array) -> Array:
    """Identity matrices with the shape and the type of a stack of square ones."""
    made: Array = zeros(array.shape, array.dtype, device=array.device_index)
    _diagonal("eye", made, 0, -2, -1)[...] = 1
    return made


@planned
def tril(m: Any, k: Any = 0) -> Array:
    """A copy with 0 above a diagonal, as ``numpy.tril``; `k` as `offset` of `diagonal`."""
    return _triangle("tril", m, k, upper=False)


@planned
def triu(m: Any, k: Any = 0) -> Array:
    """A copy with 0 below a diagonal, as ``numpy.triu``; `k` as `offset` of `diagonal`."""
    return _triangle("triu", m, k, upper=True)


def _triangle(title: str, m: Any, k: Any, *, upper: bool) -> Array:
    array = array_of(title, "m", m)
    by = integer_of(title, "k", k)
    if array.ndim == 0:
        raise ArgumentValueError(f"{title}: argument m has no axes")
    if array.ndim == 1:
        array = broadcast_to(array, (array.size, array.size))
    # The kernel takes contiguous elements, and can change a copy in place.
    source: Array = array if array.flags.c_contiguous else array.copy()
    made: Array = source
    if source is array:
        made = empty(array.shape, array.dtype, device=array.device_index)
    if array.nbytes == 0:
        return made
    rows, columns = array.shape[-2:]
    width = widest([array.itemsize, source.ptr, made.ptr])
    period = array.itemsize // width
    words = array.size * period
    # Row r has r + offset elements before the first one that tril drops or triu keeps.
    offset = min(max(by + (0 if upper else 1), -rows), columns)
    launch(
        "index", f"index_triangle_{width * 8}", array.device_index, -(-words * width // 16),
        as_words(source), as_words(made), words, rows, columns * period, period, offset, int(upper),
    )  # fmt: skip
    return made
