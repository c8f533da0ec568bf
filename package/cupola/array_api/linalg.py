# cupola/array_api/linalg.py - the extension of linear algebra, as far as cupola has kernels.
"""The standard's ``linalg`` extension over `cupola.linalg`.

Absent are the functions that need a factorization: cholesky, det, eigh, eigvalsh, inv, matrix_rank,
pinv, qr, slogdet, solve, svd and svdvals.
"""

from __future__ import annotations

from typing import Any

from cupola import linalg as _products
from cupola.array import Array
from cupola.array_api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of three elements."""
    return _products.cross(x1, x2, axis=axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A read-only view of the diagonals of matrices."""
    return _products.diagonal(x, offset=offset)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices. A norm that needs singular values raises an error."""
    return _products.matrix_norm(x, keepdims=keepdims, ord=ord)


def matrix_power(x: Array, n: int, /) -> Array:
    """The product of square matrices with themselves; negative powers raise an error."""
    return _products.matrix_power(x, n)


def outer(x1: Array, x2: Array, /) -> Array:
    """The products of all pairs of elements of two vectors."""
    return _products.outer(x1, x2)


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sums of the diagonals of matrices."""
    return _products.trace(x, offset=offset, dtype=dtype)


def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norms of vectors."""
    return _products.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
