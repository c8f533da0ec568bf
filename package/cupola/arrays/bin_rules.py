# cupola/arrays/bin_rules.py - how many bins a histogram has, by the rules of NumPy's names.
"""Rules for the width of a bin: a few statistics are made on the device and copied to the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.quantiles import percentile
from cupola.arrays.selection import compress
from cupola.arrays.statistics import std
from cupola.exceptions import ArgumentValueError

Counts = Callable[[Array, int], "np.ndarray[Any, Any]"]


def _range(x: Array) -> float:
    low, high = x.min().item(), x.max().item()
    return float(high - low)


def _square_root(x: Array, counts: Counts) -> float:
    return _range(x) / math.sqrt(x.size)


def _sturges(x: Array, counts: Counts) -> float:
    return _range(x) / (math.log2(x.size) + 1)


def _rice(x: Array, counts: Counts) -> float:
    return _range(x) / (2 * x.size ** (1 / 3))


def _scott(x: Array, counts: Counts) -> float:
    deviation: float = std(x).item()
    return (24 * math.sqrt(math.pi) / x.size) ** (1 / 3) * deviation


def _freedman_diaconis(x: Array, counts: Counts) -> float:
    upper, lower = read_now(percentile(x, [75, 25]), "histogram")
    return float(2 * (upper - lower) * x.size ** (-1 / 3))


def _doane(x: Array, counts: Counts) -> float:
    n = x.size
    deviation = std(x).item()
    if n <= 2 or not deviation > 0:
        return 0.0
    around = (x - x.mean()) / deviation
    skew = abs((around * around * around).mean().item())
    error = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return _range(x) / (1 + math.log2(n) + math.log2(1 + skew / error))


def _stone(x: Array, counts: Counts) -> float:
    """The least estimate of the error by leaving one element out, over many numbers of bins."""
    n, width = x.size, _range(x)
    if n <= 1 or not width:
        return 0.0

    def error(bins: int) -> float:
        shares = counts(x, bins) / n
        return float((2 - (n + 1) * shares.dot(shares)) / (width / bins))

    return width / min(range(1, max(100, math.isqrt(n)) + 1), key=error)


def _auto(x: Array, counts: Counts) -> float:
    least = _square_root(x, counts) / 2
    return min(max(_freedman_diaconis(x, counts), least), _sturges(x, counts))


RULES: dict[str, Callable[[Array, Counts], float]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _square_root,
    "stone": _stone,
    "sturges": _sturges,
}


def number_of_bins(rule: str, array: Array, limits: Any, ends: Any, counts: Counts) -> int:
    """The number of equal bins by a rule.

    Parameters
    ----------
    rule : str
    array : Array
        Of real numbers; the elements between the limits count.
    limits : pair of numbers, optional
    ends : array_like
        The least and the greatest element where there are no limits.
    counts : callable
        The counts of an array in so many bins between the limits, for "stone".

    Raises
    ------
    ArgumentValueError
        For a rule that there is none of.
    """
    if rule not in RULES:
        raise ArgumentValueError(
            f"histogram: argument bins: expected a number, edges or one of {', '.join(RULES)}, got "
            f"{rule!r}"
        )
    x = array.reshape(-1)
    if limits is not None:
        first, last = limits
        x = compress(np.greater_equal(x, first) & np.less_equal(x, last), x)
    elif x.size:
        first, last = (one.item() for one in ends)
    if not x.size:
        return 1
    if first == last:
        first, last = first - 0.5, last + 0.5
    width = RULES[rule](x, counts)
    if not width or not math.isfinite(width):
        return 1
    if x.dtype.kind in "iu":
        width = max(width, 1)
    return math.ceil((last - first) / width)
