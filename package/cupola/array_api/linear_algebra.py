# cupola/array_api/linear_algebra.py - products of arrays.
"""The standard's linear algebra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentValueError


def matmul(x1: Array, x2: Array, /) -> Array:
    """The product of matrices, over leading axes that broadcast."""
    result: Array = np.matmul(x1, x2)
    return result


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes exchanged."""
    result: Array = x.mT
    return result


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis; the first factor is conjugated.

    Raises
    ------
    ArgumentValueError
        Where the axes differ in length.
    """
    if x1.shape[axis] != x2.shape[axis]:
        raise ArgumentValueError(
            f"vecdot: axis {axis} has {x1.shape[axis]} and {x2.shape[axis]} elements"
        )
    first = np.conjugate(x1) if x1.dtype.kind == "c" else x1
    kind = np.result_type(x1.dtype, x2.dtype)
    product = first * x2
    result: Array = product.sum(axis=axis, dtype=kind)
    return result


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """A sum of products over several axes, as a product of two matrices.

    Parameters
    ----------
    x1, x2 : Array
    axes : int or two sequences of int
        The last axes of `x1` and the first of `x2`, or the axes of each.

    Raises
    ------
    ArgumentValueError
        Where the axes differ in length.
    """
    if isinstance(axes, int):
        pairs = [*range(x1.ndim - axes, x1.ndim)], [*range(axes)]
    else:
        first, second = axes
        pairs = [one % x1.ndim for one in first], [one % x2.ndim for one in second]
    lengths = [x1.shape[one] for one in pairs[0]], [x2.shape[one] for one in pairs[1]]
    if lengths[0] != lengths[1]:
        raise ArgumentValueError(f"tensordot: the axes have {lengths[0]} and {lengths[1]} elements")
    left = [one for one in range(x1.ndim) if one not in pairs[0]]
    right = [one for one in range(x2.ndim) if one not in pairs[1]]
    rows, columns = [x1.shape[one] for one in left], [x2.shape[one] for one in right]
    inner = math.prod(lengths[0])
    first_matrix = x1.transpose([*left, *pairs[0]]).reshape(math.prod(rows), inner)
    second_matrix = x2.transpose([*pairs[1], *right]).reshape(inner, math.prod(columns))
    kind: Any = np.result_type(x1.dtype, x2.dtype)
    product = matmul(first_matrix.astype(kind, copy=False), second_matrix.astype(kind, copy=False))
    return product.reshape([*rows, *columns])
