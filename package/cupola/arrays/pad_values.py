# cupola/arrays/pad_values.py - borders that are computed from an array's elements.
"""Statistics and linear ramps for `cupola.pad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.quantiles import median
from cupola.arrays.selection import where
from cupola.creation import arange
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

STATISTICS: dict[str, Callable[[Array, int], Array]] = {
    "maximum": lambda x, axis: x.max(axis, keepdims=True),
    "mean": lambda x, axis: x.mean(axis, keepdims=True),
    "median": lambda x, axis: median(x, axis, keepdims=True),
    "minimum": lambda x, axis: x.min(axis, keepdims=True),
}


def statistic(mode: str, known: Array, axis: int, at_end: bool, length: Any) -> Array:
    """The border's value: a statistic of `length` elements at an end of an axis, None: of all."""
    n = known.shape[axis]
    count = n if length is None else length
    if not hasattr(count, "__index__"):
        raise ArgumentTypeError(f"pad: argument stat_length: expected ints, got {count!r}")
    if count < 0 or (count == 0 and n):
        raise ArgumentValueError(f"pad: argument stat_length: expected at least 1, got {count}")
    count = min(count, n)
    cut = slice(n - count, n) if at_end else slice(0, count)
    found = STATISTICS[mode](known[(slice(None),) * axis + (cut,)], axis)
    if known.dtype.kind in "iu" and found.dtype.kind == "f":
        found = np.rint(found)
    return found.astype(known.dtype, copy=False)


def ramp(known: Array, axis: int, at_end: bool, width: int, end: Any) -> Array:
    """Numbers from `end`, the outermost one, towards the element at the array's end."""
    n = known.shape[axis]
    place = n - 1 if at_end else 0
    edge = known[(slice(None),) * axis + (slice(place, place + 1),)]
    kind = np.result_type(known.dtype, np.asarray(end).dtype, np.float64)
    start = np.asarray(end).astype(kind)[()]
    delta = edge.astype(kind) - start
    step = delta / width
    shape = (-1, *(1,) * (known.ndim - axis - 1))
    at = arange(width, dtype=kind, device=known.device_index).reshape(shape)
    # As numpy.linspace: where a step is zero, all are computed in the other order.
    none = np.equal(step, 0).any()
    made = where(none, at / width * delta, at * step) + start
    if known.dtype.kind in "iu":
        made = np.floor(made)
    made = made.astype(known.dtype)
    return made[(slice(None),) * axis + (slice(None, None, -1),)] if at_end else made
