# cupola/array_api/statistics.py - reductions and scans.
"""The standard's statistical functions, and `all`, `any` and `diff`."""

from __future__ import annotations

from typing import Any

import cupola
from cupola.array import Array
from cupola.exceptions import ArgumentValueError

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
    return _cumulative("cumulative_sum", cupola.cumsum, x, axis, dtype, 0, include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Products of the elements up to each one, and of none first with `include_initial`."""
    return _cumulative("cumulative_prod", cupola.cumprod, x, axis, dtype, 1, include_initial)


def _cumulative(
    name: str, scan: Any, x: Array, axis: int | None, dtype: Any, neutral: int, initial: bool
) -> Array:
    if axis is None:
        if x.ndim != 1:
            raise ArgumentValueError(f"{name}: axis is needed for an array of {x.ndim} axes")
        axis = 0
    made: Array = scan(x, axis, dtype)
    if not initial:
        return made
    shape = list(made.shape)
    shape[axis] = 1
    first = cupola.full(shape, neutral, made.dtype, device=made.device)
    return cupola.concatenate([first, made], axis)


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
    parts = [one for one in (prepend, x, append) if one is not None]
    whole = cupola.concatenate(parts, axis) if len(parts) > 1 else x
    return cupola.diff(whole, n, axis)
