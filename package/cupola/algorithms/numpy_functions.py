# cupola/algorithms/numpy_functions.py - which function computes what NumPy's computes, on arrays.
"""For ``__array_function__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.algorithms import sorts

# By NumPy's function.
numpy_functions: dict[Callable[..., Any], Callable[..., Any]] = {
    np.argsort: sorts.argsort,
    np.sort: sorts.sort,
}
