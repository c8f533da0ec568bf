# cupola/arrays/arithmetic.py - functions of several elementwise operations.
"""`clip` and `diff`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays import fused
from cupola.arrays.arguments import integer_of, is_device_array
from cupola.arrays.joins import concatenate
from cupola.arrays.layouts import broadcast_to
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, axis_of
from cupola.creation import full
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["clip", "diff"]


@planned
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None) -> Array:
    """Elements limited to a range, as ``numpy.clip``.

    Parameters
    ----------
    a : Array
    a_min, a_max : Array or number, optional
        The limits; they broadcast. Where they are in the wrong order, the upper one holds.
    out : Array, optional

    Returns
    -------
    Array
        NaN stays. The work is queued on the current stream.
    """
    found = array_of("clip", "a", a)
    if found.dtype.kind in "iu":
        # A Python integer outside of the dtype's range sets no limit; an operation would refuse it.
        limits = np.iinfo(found.dtype)
        a_min = None if type(a_min) is int and a_min <= limits.min else a_min
        a_max = None if type(a_max) is int and a_max >= limits.max else a_max
    if a_min is not None and a_max is not None:
        made = fused.clip(found, a_min, a_max, out)
        if made is not None:
            return made
    if a_min is not None:
        found = np.maximum(found, a_min, out=out if a_max is None else None)
    if a_max is not None:
        found = np.minimum(found, a_max, out=out)
    if a_min is None and a_max is None:
        found = np.positive(found, out=out)
    return found


@planned
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Array:
    """Differences of neighbouring elements along an axis, as ``numpy.diff``.

    Parameters
    ----------
    a : Array
        Of bool, ``!=`` is the difference.
    n : int
        How often.
    axis : int
    prepend, append : Array or number, optional
        Elements before and behind; a number stands for one along the axis.

    Returns
    -------
    Array
        The work is queued on the current stream.
    """
    array = array_of("diff", "a", a)
    times = integer_of("diff", "n", n)
    if times < 0:
        raise ArgumentValueError(f"diff: argument n is negative: {times}")
    if array.ndim == 0:
        raise ArgumentValueError("diff: argument a has no axes")
    number = axis_of("diff", axis, array.ndim)
    if times == 0:
        return array
    parts = [_beside("prepend", prepend, array, number), array]
    parts.append(_beside("append", append, array, number))
    given = [one for one in parts if one is not None]
    found = concatenate(given, axis=number) if len(given) > 1 else array
    whole = (slice(None),) * number
    for _ in range(times):
        after, before = found[(*whole, slice(1, None))], found[(*whole, slice(None, -1))]
        found = after != before if found.dtype == np.bool_ else after - before
    return found


def _beside(name: str, value: Any, array: Array, axis: int) -> Array | None:
    if value is None:
        return None
    if isinstance(value, (bool, int, float, complex, np.generic)):
        known = np.asarray(value)
        value = full((), known[()], known.dtype, device=array.device_index)
    if not is_device_array(value):
        raise ArgumentTypeError(
            f"diff: argument {name}: expected an array of a device or a number, got a "
            f"{type(value).__name__}"
        )
    part = array_of("diff", name, value)
    if part.ndim:
        return part
    return broadcast_to(part, (*array.shape[:axis], 1, *array.shape[axis + 1 :]))
