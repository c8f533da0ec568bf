# cupola/arrays/statistics.py - variance and standard deviation.
"""Statistics that are sums over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import axes_of
from cupola.arrays.outputs import stored
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of
from cupola.arrays.spread import spread_of
from cupola.exceptions import ArgumentValueError

__all__ = ["std", "var"]


@planned
def var(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> Array:
    """The variance along axes: the mean of squared distances from the mean.

    The work is queued on the current stream. The mean is computed first, as NumPy does.

    Parameters
    ----------
    a : Array
        Of bool, integers, floats or complex numbers.
    axis : None, int or tuple of int
        None is all axes.
    dtype : data-type, optional
        The type that it is computed in; by default float64 for integers, else the array's.
    out : Array, optional
        The output, of the result's shape.
    ddof : float
        The divisor is the number of elements minus this number, at least 0.
    keepdims : bool
        Keep the reduced axes, with a length of 1.
    correction : float, optional
        The array API's name of `ddof`.

    Returns
    -------
    Array
        NaN where the divisor is 0; of floats also for complex numbers.

    Raises
    ------
    ArgumentTypeError
        Where the elements have a type without a kernel.
    ArgumentValueError
        Where `ddof` and `correction` are given both, or there is no such axis.
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, correction, root=False)


@planned
def std(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Array | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> Array:
    """The standard deviation along axes: the square root of `var`, with its parameters.

    Returns
    -------
    Array
    """
    return _spread("std", a, axis, dtype, out, ddof, keepdims, correction, root=True)


def _spread(
    name: str,
    a: Array,
    axis: Any,
    dtype: Any,
    out: Array | None,
    ddof: float,
    keepdims: bool,
    correction: float | None,
    *,
    root: bool,
) -> Array:
    a = array_of(name, "a", a)
    if correction is not None:
        if ddof:
            raise ArgumentValueError(f"{name}: ddof and correction are one parameter; give one")
        ddof = correction
    kind = np.dtype(dtype) if dtype is not None else a.dtype
    if kind.kind in "biu":
        kind = np.dtype(np.float64)
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = math.prod(a.shape[one] for one in axes)
    values = a if a.dtype == kind else a.astype(kind)
    if kind.kind == "f" and a.ndim:
        found = axes_of(name, tuple(axes), a.ndim)
        shape = [1 if at in found else length for at, length in enumerate(a.shape)]
        kept = [length for at, length in enumerate(a.shape) if at not in found]
        made = spread_of(
            values, tuple(sorted(found)), max(count - ddof, 0), root,
            tuple(shape if keepdims else kept),
        )  # fmt: skip
        if made is not None:
            return stored(out, made)
    if kind == np.float16:
        # As in NumPy, each step is rounded to float16. So large sums and squares are infinite.
        mean = _divided(values.sum(axis=axis, keepdims=True), count)
    else:
        mean = values.mean(axis=axis, keepdims=True)
    distance = values - mean
    if kind.kind == "c":
        real, imaginary = np.real(distance), np.imag(distance)
        squares = real * real + imaginary * imaginary
    else:
        squares = distance * distance
    total = squares.sum(axis=axis, keepdims=keepdims)
    result = _divided(total, max(count - ddof, 0))
    if root:
        result = np.sqrt(result)
    return stored(out, result)


def _divided(total: Array, count: float) -> Array:
    if total.dtype != np.float16:
        return total / np.asarray(count, total.dtype)
    # float16 does not have all counts.
    return (total.astype(np.float32) / np.float32(count)).astype(np.float16)
