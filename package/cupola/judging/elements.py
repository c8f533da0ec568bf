# cupola/judging/elements.py - the floating-point types of arrays, those of ml_dtypes among them.
"""Kinds, limits and precision of element types, which NumPy tells of its own types alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.declare.element_types import OF_ML_DTYPES

_POWERS = "float8_e8m0fnu"  # powers of two alone: no sign, no zero


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are real numbers of floating point."""
    return dtype.kind == "f" or dtype.name in OF_ML_DTYPES


def limits(dtype: np.dtype[Any]) -> Any:
    """`numpy.finfo` of a type of floating point."""
    if dtype.name not in OF_ML_DTYPES:
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def saturates(dtype: np.dtype[Any]) -> bool:
    """Whether kernels may round numbers beyond the largest to the largest, as CUDA's types do."""
    return dtype.name.startswith("float8")


def stored(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The values as a type of floating point; for a type of powers of two, powers near them."""
    if dtype.name != _POWERS:
        return values.astype(dtype)
    with np.errstate(divide="ignore"):
        exponents = np.log2(np.abs(values).astype(np.float64))
    return np.exp2(np.where(np.isneginf(exponents), 0.0, np.rint(exponents))).astype(dtype)


def computable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, as float32 where NumPy does not compute with its type."""
    return array.astype(np.float32) if array.dtype.name in OF_ML_DTYPES else array
