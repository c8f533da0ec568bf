# cupola/ops/element_dtypes.py - NumPy's types of elements.
"""The dtype of an element type; ml_dtypes adds some of them to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.declare.element_types import OF_ML_DTYPES
from cupola.exceptions import ArgumentTypeError


def dtype_of(element: str) -> np.dtype[Any]:
    """NumPy's dtype of an element type.

    Raises
    ------
    ArgumentTypeError
        Where it needs ml_dtypes, which is not installed.
    """
    if element not in OF_ML_DTYPES:
        return np.dtype(element)
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentTypeError(
            f"arrays of {element} need ml_dtypes, which adds the type to NumPy: install it"
        ) from None
    try:
        return np.dtype(getattr(ml_dtypes, element))
    except AttributeError:
        raise ArgumentTypeError(
            f"arrays of {element} need a newer ml_dtypes than {ml_dtypes.__version__}"
        ) from None
