# cupola/arrays/quantile_methods.py - which elements a quantile combines, by its method.
"""The methods of `cupola.quantile` (Hyndman and Fan, 1996), and NumPy's older ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cupola.exceptions import ArgumentValueError

_Numbers = np.ndarray[Any, np.dtype[Any]]

# The constants alpha and beta.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _step(index: _Numbers, takes_lower: Callable[[_Numbers], _Numbers]) -> _Numbers:
    lower = np.floor(index)
    exact = (index == lower) & takes_lower(lower)
    return np.maximum(np.where(exact, lower, lower + 1), 0)


# Methods that take one element; its index in a row of n.
_DISCRETE: dict[str, Callable[[int, _Numbers], _Numbers]] = {
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
    "inverted_cdf": lambda n, q: _step(n * q - 1, lambda lower: lower == lower),
    "closest_observation": lambda n, q: _step(n * q - 1.5, lambda lower: lower % 2 == 1),
}
METHODS = ("linear", "midpoint", "averaged_inverted_cdf", *_CONTINUOUS, *_DISCRETE)


class Positions(NamedTuple):
    """The elements of a sorted row, for each quantile."""

    low: _Numbers
    high: _Numbers
    weight: _Numbers | None  # weight of `high`; None: `low` is the result


def positions(function: str, method: str, n: int, q: _Numbers) -> Positions:
    """The elements that the quantiles `q` of a row of `n` elements combine.

    Raises
    ------
    ArgumentValueError
        Where there is no such method.
    """
    if method in _DISCRETE:
        low = _DISCRETE[method](n, q).astype(np.int64)
        return Positions(low, low, None)
    if method == "linear":
        index = np.asarray((n - 1) * q)
        if index.dtype.kind in "iu":
            return Positions(index, index, None)
    elif method == "midpoint":
        index = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif method == "averaged_inverted_cdf":
        index = n * q - 1
    elif method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        index = n * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        raise ArgumentValueError(
            f"{function}: argument method: expected one of {', '.join(METHODS)}, got {method!r}"
        )
    low = np.floor(index)
    high = low + 1
    above, below = index >= n - 1, index < 0
    low, high = (np.where(above, -1, np.where(below, 0, one)) for one in (low, high))
    weight = np.asarray(index - low)
    if method == "midpoint":
        weight = np.where(index % 1 == 0, 0.0, 0.5)
    elif method == "averaged_inverted_cdf":
        weight = np.where(weight == 0, 0.5, 1.0)
    weight = weight.astype(index.dtype)
    return Positions(low.astype(np.int64) % n, high.astype(np.int64) % n, weight)
