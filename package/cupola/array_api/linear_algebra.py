# cupola/array_api/linear_algebra.py - products of arrays.
"""The standard's linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

from cupola import linalg
from cupola.array import Array


def matmul(x1: Array, x2: Array, /) -> Array:
    """The product of matrices, over leading axes that broadcast."""
    return linalg.matmul(x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes exchanged."""
    return linalg.matrix_transpose(x)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis; the first factor is conjugated."""
    return linalg.vecdot(x1, x2, axis=axis)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """A sum of products over several axes; see `cupola.tensordot`."""
    return linalg.tensordot(x1, x2, axes=axes)
