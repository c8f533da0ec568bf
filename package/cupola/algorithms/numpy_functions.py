# cupola/algorithms/numpy_functions.py - which function computes what NumPy's computes, on arrays.
"""For ``__array_function__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.algorithms import order_statistics, quantiles, scans, sorts

# By NumPy's function.
numpy_functions: dict[Callable[..., Any], Callable[..., Any]] = {
    np.argpartition: order_statistics.argpartition,
    np.argsort: sorts.argsort,
    np.cumprod: scans.cumprod,
    np.cumsum: scans.cumsum,
    np.lexsort: sorts.lexsort,
    np.median: quantiles.median,
    np.partition: order_statistics.partition,
    np.percentile: quantiles.percentile,
    np.quantile: quantiles.quantile,
    np.sort: sorts.sort,
}
# NumPy has these since 2.1.
for _name in ("cumulative_prod", "cumulative_sum"):
    if hasattr(np, _name):
        numpy_functions[getattr(np, _name)] = getattr(scans, _name)
