# cupola/array_api/linear_algebra.py - products of arrays.
"""The standard's linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import cupola
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
    """A sum of products over several axes; see `cupola.tensordot`."""
    return cupola.tensordot(x1, x2, axes)
