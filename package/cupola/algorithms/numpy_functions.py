# cupola/algorithms/numpy_functions.py - which function computes what NumPy's computes, on arrays.
"""For ``__array_function__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.algorithms import indexing, products, selection, sorts

# By NumPy's function.
numpy_functions: dict[Callable[..., Any], Callable[..., Any]] = {
    np.argsort: sorts.argsort,
    np.argwhere: selection.argwhere,
    np.compress: selection.compress,
    np.count_nonzero: selection.count_nonzero,
    np.extract: selection.extract,
    np.flatnonzero: selection.flatnonzero,
    np.inner: products.inner,
    np.nonzero: selection.nonzero,
    np.outer: products.outer,
    np.put: indexing.put,
    np.put_along_axis: indexing.put_along_axis,
    np.sort: sorts.sort,
    np.take: indexing.take,
    np.take_along_axis: indexing.take_along_axis,
    np.tensordot: products.tensordot,
    np.vdot: products.vdot,
    np.where: selection.where,
}
