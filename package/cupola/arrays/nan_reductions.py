# cupola/arrays/nan_reductions.py - reductions that leave NaN out.
"""`nansum`, `nanprod`, `nanmin`, `nanmax`, `nanmean`, `nanargmin` and `nanargmax`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.rows import array_of
from cupola.arrays.selection import where
from cupola.exceptions import ArgumentValueError

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nansum"]


def _filled(function: str, a: Any, value: float) -> tuple[Array, Array | None]:
    """The array with a value in the place of NaN, and where NaN was; None where none can be."""
    x = array_of(function, "a", a)
    if x.dtype.kind not in "fc":
        return x, None
    is_nan = np.isnan(x)
    return where(is_nan, x.dtype.type(value), x), is_nan


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Array | None = None, keepdims: bool = False
) -> Array:
    """The sum along axes with NaN as 0, as ``numpy.nansum``; queued on the current stream.

    Parameters
    ----------
    a : Array
    axis : None, int or tuple of int
    dtype : data-type, optional
        The computed and result type, as for `Array.sum`.
    out : Array, optional
    keepdims : bool
        Keep the reduced axes, with a length of 1.

    Returns
    -------
    Array
    """
    return _filled("nansum", a, 0)[0].sum(axis, dtype, out, keepdims)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Array | None = None, keepdims: bool = False
) -> Array:
    """The product along axes with NaN as 1, as ``numpy.nanprod``; parameters as for `nansum`.

    Returns
    -------
    Array
    """
    return _filled("nanprod", a, 1)[0].prod(axis, dtype, out, keepdims)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Array | None = None, keepdims: bool = False
) -> Array:
    """The mean along axes of elements that are not NaN; parameters as for `nansum`.

    Returns
    -------
    Array
        NaN where all elements are.
    """
    x, is_nan = _filled("nanmean", a, 0)
    if is_nan is None:
        return x.mean(axis, dtype, out, keepdims)
    total = x.sum(axis, dtype, None, keepdims)
    count = (~is_nan).sum(axis, None, None, keepdims)
    real = np.dtype(f"f{total.itemsize // (2 if total.dtype.kind == 'c' else 1)}")
    found = total / count.astype(real)
    if out is None:
        return found
    out[...] = found.astype(out.dtype, casting="same_kind")
    return out


def _extreme(
    function: str, a: Any, axis: Any, out: Any, keepdims: bool, neutral: float, method: str
) -> Array:
    x, is_nan = _filled(function, a, neutral)
    found = getattr(x, method)(axis, None, keepdims)
    if is_nan is not None:
        found = where(is_nan.all(axis, None, keepdims), found.dtype.type(np.nan), found)
    if out is None:
        return found
    out[...] = found.astype(out.dtype, casting="same_kind")
    return out


def nanmin(a: Any, axis: Any = None, out: Array | None = None, keepdims: bool = False) -> Array:
    """The least element along axes that is not NaN, of real numbers; as ``numpy.nanmin``.

    Parameters
    ----------
    a : Array
    axis : None, int or tuple of int
    out : Array, optional
    keepdims : bool

    Returns
    -------
    Array
        NaN where all elements are, without a warning. Queued on the current stream.
    """
    return _extreme("nanmin", a, axis, out, keepdims, np.inf, "min")


def nanmax(a: Any, axis: Any = None, out: Array | None = None, keepdims: bool = False) -> Array:
    """The greatest element along axes that is not NaN; parameters as for `nanmin`.

    Returns
    -------
    Array
        NaN where all elements are, without a warning. Queued on the current stream.
    """
    return _extreme("nanmax", a, axis, out, keepdims, -np.inf, "max")


def _index(
    function: str, a: Any, axis: Any, out: Any, keepdims: bool, neutral: float, method: str
) -> Array:
    x, is_nan = _filled(function, a, neutral)
    if is_nan is not None and is_nan.all(axis).any():
        raise ArgumentValueError(f"{function}: all elements along the axis are NaN")
    return getattr(x, method)(axis, out, keepdims=keepdims)


def nanargmin(
    a: Any, axis: Any = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """The index of the first least element that is not NaN, as ``numpy.nanargmin``.

    Parameters
    ----------
    a : Array
        Of floats it waits for the check that some element is not NaN.
    axis : None or int
    out : Array, optional
    keepdims : bool

    Returns
    -------
    Array
        Of int64.

    Raises
    ------
    ArgumentValueError
        Where all elements along the axis are NaN.
    """
    return _index("nanargmin", a, axis, out, keepdims, np.inf, "argmin")


def nanargmax(
    a: Any, axis: Any = None, out: Array | None = None, *, keepdims: bool = False
) -> Array:
    """The index of the first greatest element that is not NaN; parameters as for `nanargmin`.

    Returns
    -------
    Array
        Of int64.

    Raises
    ------
    ArgumentValueError
        Where all elements along the axis are NaN.
    """
    return _index("nanargmax", a, axis, out, keepdims, -np.inf, "argmax")
