# cupola/arrays/interpolation.py - values between the points of a function.
"""`interp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.indexing import take
from cupola.arrays.rows import array_of
from cupola.arrays.searching import searchsorted
from cupola.arrays.selection import where
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["interp"]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    """Linear interpolation between points, as ``numpy.interp``.

    Parameters
    ----------
    x : Array
        Where to interpolate, of any shape.
    xp, fp : Array
        The points' positions, in ascending order, and their values; one axis of equal length.
    left, right : number, optional
        The values before the first point and after the last one; by default theirs.
    period : None
        Periodic positions are not supported.

    Returns
    -------
    Array
        Of float64 and the shape of `x`. The work is queued on the current stream.

    Raises
    ------
    ArgumentError
        Where the points are not as described.
    """
    at, points, values = (
        array_of("interp", name, value) for name, value in (("x", x), ("xp", xp), ("fp", fp))
    )
    if period is not None:
        raise ArgumentTypeError("interp: argument period: periodic positions are not supported")
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        raise ArgumentValueError(
            f"interp: arguments xp and fp: expected one axis of equal length, at least 1, got "
            f"the shapes {points.shape} and {values.shape}"
        )
    at, points, values = (one.astype(np.float64, copy=False) for one in (at, points, values))
    last = points.size - 1
    after = searchsorted(points, at, "right")  # 0: before the first point
    low = np.clip(after - 1, 0, max(last - 1, 0))
    high = np.clip(low + 1, 0, last)
    x0, y0 = _at(points, low), _at(values, low)
    width = _at(points, high) - x0
    slope = (_at(values, high) - y0) / where(width == 0, 1.0, width)
    found = where(at == x0, y0, slope * (at - x0) + y0)
    first_value = _at(values, np.clip(low, 0, 0)) if left is None else float(left)
    last_value = _at(values, np.clip(low, last, last)) if right is None else float(right)
    # NumPy returns the last value at the last position, and `right` only for positions after it.
    ends = where(at == points[last], _at(values, np.clip(low, last, last)), last_value)
    found = where(after == points.size, ends, where(after == 0, first_value, found))
    # With a single point, NumPy gives a position of NaN the value of that point.
    return where(np.isnan(at), at if last else y0, found)


def _at(elements: Array, index: Array) -> Array:
    """Elements at indices that are in range: a check would wait for the device."""
    return take(elements, index, mode="clip")
