# cupola/linalg/__init__.py - products and norms of matrices and vectors, by NumPy's names.
"""The functions of ``numpy.linalg`` that need no factorization of a matrix.

``numpy.linalg`` calls them for arrays of a device. Decompositions, eigenvalues, singular values,
inverses, determinants and solutions of equations are absent: use NumPy on ``x.get()``, or CuPy or
PyTorch through DLPack.
"""

from __future__ import annotations

from cupola.linalg.norms import matrix_norm, norm, vector_norm
from cupola.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> object:
    """Say what to use for a name that only NumPy has."""
    from cupola.core.numpy_names import missing

    raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted(__all__)
