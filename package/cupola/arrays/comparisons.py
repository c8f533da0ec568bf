# cupola/arrays/comparisons.py - whether arrays are equal, or nearly.
"""Comparisons of whole arrays, and rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays import fused
from cupola.arrays.arguments import integer_of, is_device_array
from cupola.arrays.outputs import stored
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of
from cupola.exceptions import ArgumentTypeError

__all__ = ["allclose", "array_equal", "isclose", "round"]


@planned
def round(a: Array, decimals: int = 0, out: Array | None = None) -> Array:  # noqa: A001
    """Elements rounded to a number of decimals; ties go to the even number.

    The work is queued on the current stream. As in NumPy, the elements are multiplied by a power of
    ten, rounded and divided.

    Parameters
    ----------
    a : Array
        Of integers, floats or complex numbers.
    decimals : int
        Negative ones round to tens, hundreds and so on.
    out : Array, optional
        The output, of the array's shape.

    Returns
    -------
    Array
        Of the array's dtype; bool becomes float16, as in NumPy.

    Raises
    ------
    ArgumentTypeError
        Where the elements have a type without a kernel.
    """
    a = array_of("round", "a", a)
    decimals = integer_of("round", "decimals", decimals)
    if a.dtype == bool:
        if decimals:
            raise ArgumentTypeError(f"round: bool has no decimals, got decimals={decimals}")
        a = a.astype(np.float16)
    if a.dtype.kind in "iu" and decimals >= 0:
        result = a.copy()
    elif a.dtype.kind == "c":
        result = a.copy()
        result.real[...] = _rounded(a.real, decimals)
        result.imag[...] = _rounded(a.imag, decimals)
    else:
        result = _rounded(a, decimals)
    return stored(out, result)


def _rounded(a: Array, decimals: int) -> Array:
    if decimals == 0:
        result: Array = np.rint(a)
        return result
    scale = np.asarray(10.0 ** abs(decimals), a.dtype if a.dtype.kind == "f" else np.float64)
    whole = np.rint(a * scale if decimals > 0 else a / scale)
    result = whole / scale if decimals > 0 else whole * scale
    if result.dtype == a.dtype:
        return result
    # Integers that leave their range wrap, as in NumPy; a cast of a float would not.
    return result.astype(np.int64).astype(a.dtype)


@planned
def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether elements differ by at most ``atol + rtol * abs(b)``.

    Parameters
    ----------
    a, b : Array or scalar
        Their shapes broadcast.
    rtol, atol : float
    equal_nan : bool
        Whether two NaN are close.

    Returns
    -------
    Array
        Of bool. Infinities are close to equal ones.
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


def _close(title: str, a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Array:
    x, y = (
        array_of(title, name, value) if is_device_array(value) else value
        for name, value in (("a", a), ("b", b))
    )
    if getattr(y, "dtype", np.dtype(float)).kind in "biu":
        y = y.astype(np.float64)
    made = fused.close(x, y, rtol, atol, equal_nan)
    if made is not None:
        return made
    within = np.less_equal(np.abs(x - y), atol + rtol * np.abs(y))
    close = (within & np.isfinite(y)) | np.equal(x, y)
    if equal_nan:
        close = close | (np.not_equal(x, x) & np.not_equal(y, y))
    result: Array = close
    return result


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as by `isclose`. Waits for the result."""
    near = _close("allclose", a, b, rtol, atol, equal_nan).all()
    return bool(read_now(near, "allclose"))


def array_equal(a1: Array, a2: Array, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements. Waits for the result.

    Parameters
    ----------
    a1, a2 : Array
    equal_nan : bool
        Whether two NaN are equal.

    Returns
    -------
    bool
    """
    a1, a2 = array_of("array_equal", "a1", a1), array_of("array_equal", "a2", a2)
    if a1.shape != a2.shape:
        return False
    same = np.equal(a1, a2)
    if equal_nan:
        same = same | (np.not_equal(a1, a1) & np.not_equal(a2, a2))
    return bool(read_now(same.all(), "array_equal"))
