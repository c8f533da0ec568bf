# cupola/random/parameters.py - the arguments of distributions: numbers, arrays, sizes, results.
"""Checks of arguments. Numbers are checked on the host; arrays stay on the device, unchecked."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.selection import where
from cupola.creation import empty
from cupola.element import native_dtype
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import RANDOM_HYPERGEOMETRIC_LIMIT, RANDOM_LARGEST_MEAN

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Range(NamedTuple):
    """The values that a parameter may have: those that NumPy takes, often with NaN."""

    text: str
    has: Callable[[float], bool]
    whole: bool = False


ANY = Range("a number", lambda x: True)
FINITE = Range("a finite number", math.isfinite)
NOT_NEGATIVE = Range("at least 0", lambda x: not x < 0)
POSITIVE = Range("above 0", lambda x: not x <= 0)
POSITIVE_NUMBER = Range("above 0, not NaN", lambda x: x > 0)
SHARE = Range("from 0 to 1", lambda x: 0 <= x <= 1)
POSITIVE_SHARE = Range("above 0 and at most 1", lambda x: 0 < x <= 1)
UNIT = Range("at least 0 and below 1", lambda x: 0 <= x < 1)
ABOVE_ONE = Range("above 1", lambda x: x > 1)
PART = Range("from 0 to 10**9 - 1", lambda x: 0 <= x < RANDOM_HYPERGEOMETRIC_LIMIT, True)
COUNT = Range("from 0 to 2**63 - 1", lambda x: 0 <= x < 2**63, True)
MEAN = Range(f"from 0 to {RANDOM_LARGEST_MEAN}", lambda x: 0 <= x <= RANDOM_LARGEST_MEAN)


def parameter(function: str, name: str, value: Any, allowed: Range) -> float | Array:
    """A checked number, or an array of a device. Whole ones lose a fraction, as in NumPy."""
    if isinstance(value, Array):
        if value.dtype.kind not in "biuf":
            raise ArgumentTypeError(
                f"{function}: {name}: expected real numbers, got an array of {value.dtype}"
            )
        return value
    if isinstance(value, (np.ndarray, list, tuple)) and np.ndim(value):
        raise ArgumentTypeError(
            f"{function}: {name} is in host memory: copy it with cupola.to_device({name})"
        )
    try:
        number = _whole(value) if allowed.whole else float(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{function}: {name}: expected a number or a cupola.Array, got {type(value).__name__}"
        ) from None
    if not allowed.has(number):
        raise ArgumentValueError(f"{function}: {name}: expected {allowed.text}, got {value}")
    return number


def _whole(value: Any) -> float:
    """An int without rounding; a float without its fraction."""
    try:
        return operator.index(value)
    except TypeError:
        number = float(value)
    return math.trunc(number) if math.isfinite(number) else number


def shape_of(function: str, size: Any, values: Mapping[str, float | Array]) -> tuple[int, ...]:
    """The shape of a result: `size`, or that of the parameters together."""
    shapes = {name: value.shape for name, value in values.items() if isinstance(value, Array)}
    if size is None:
        try:
            return np.broadcast_shapes(*shapes.values())
        except ValueError:
            listed = " and ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ArgumentValueError(
                f"{function}: the parameters' shapes don't broadcast: {listed}"
            ) from None
    shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    for name, found in shapes.items():
        try:
            fits = np.broadcast_shapes(shape, found) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ArgumentValueError(
                f"{function}: {name} has the shape {found}, which does not broadcast to size "
                f"{shape}"
            )
    return shape


def result(function: str, shape: Any, dtype: Any, out: Any, sized: bool = True) -> Array:
    """An array for a result: `out` where it is contiguous, else a new one.

    Without `sized`, the result has the shape of `out`.
    """
    if out is None:
        return empty(shape, dtype)
    if not isinstance(out, Array):
        raise ArgumentTypeError(
            f"{function}: out: expected a cupola.Array, got {type(out).__name__}"
        )
    if out.dtype != dtype:
        raise ArgumentTypeError(f"{function}: out: expected the dtype {dtype}, got {out.dtype}")
    if sized and out.shape != shape:
        raise ArgumentValueError(f"{function}: out: expected the shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ArgumentValueError(f"{function}: out: the array is read-only")
    if out.flags.c_contiguous and out.ptr % out.itemsize == 0:
        return out
    return empty(out.shape, dtype, device=out.device_index)


def finish(made: Array, out: Array | None) -> Array:
    """The result; `out` gets a copy where the kernel could not write it."""
    if out is None or out is made:
        return made
    out[...] = made
    return out


def real_type(function: str, dtype: Any) -> np.dtype[Any]:
    """float32 or float64."""
    found = native_dtype(np.dtype(dtype))
    if found not in FLOATS:
        raise ArgumentTypeError(f"{function}: dtype: expected float32 or float64, got {found}")
    return found


def pair(
    value: float | Array, shape: tuple[int, ...], device: int, dtype: Any = np.float64
) -> tuple[Any, float]:
    """A kernel's two arguments for a parameter: an array of a dtype or none, and a number."""
    if not isinstance(value, Array):
        return 0, value
    if value.device_index != device:
        raise ArgumentValueError(
            f"a parameter is on device {value.device_index}, the result on device {device}: copy "
            f"it with cupola.to_device(..., device={device})"
        )
    if value.shape == shape and value.dtype == dtype and value.flags.c_contiguous:
        return value, 0
    if dtype != np.float64 and value.dtype.kind == "f":
        # NaN is converted to a negative integer, larger numbers to the largest one.
        given = where(value < 2.0**63, value, math.nan)
    else:
        given = value
    whole = empty(shape, dtype, device=device)
    whole[...] = given.astype(dtype, copy=False)
    return whole, 0
