# cupola/array_api/statistics.py - reductions and scans.
"""The standard's statistical functions, and `all`, `any` and `diff`."""

from __future__ import annotations

from typing import Any

import cupola
from cupola.array import Array

Axes = int | tuple[int, ...] | None


def all(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether all elements are true."""
    return x.all(axis, keepdims=keepdims)


def any(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether any element is true."""
    return x.any(axis, keepdims=keepdims)


def max(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The greatest element."""
    return x.max(axis, keepdims=keepdims)


def min(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The least element."""
    return x.min(axis, keepdims=keepdims)


def mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The arithmetic mean."""
    return x.mean(axis, keepdims=keepdims)


def sum(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum of elements."""
    return x.sum(axis, dtype, keepdims=keepdims)


def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product of elements."""
    return x.prod(axis, dtype, keepdims=keepdims)


def std(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The standard deviation."""
    return cupola.std(x, axis, keepdims=keepdims, correction=correction)


def var(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The variance."""
    return cupola.var(x, axis, keepdims=keepdims, correction=correction)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Sums of the elements up to each one, and of none first with `include_initial`."""
    return cupola.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Products of the elements up to each one, and of none first with `include_initial`."""
    return cupola.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Differences of neighbours along an axis, `n` times."""
    return cupola.diff(x, n, axis, prepend, append)
