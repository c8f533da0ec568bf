# cupola/arrays/like.py - NumPy's functions that make or copy arrays, as for like=.
"""``numpy.asarray(x, like=array)`` and the others that take ``like=`` make arrays of a device.

They take NumPy's arguments. NumPy removes ``like=`` itself. `copy` and `ravel` are methods here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import cupola
from cupola.array import Array
from cupola.exceptions import ArgumentTypeError


def _in_order(array: Array, order: Any) -> Array:
    """The array itself, or a copy in the order of the call."""
    wrong = (order == "C" and not array.flags.c_contiguous) or (
        order == "F" and not array.flags.f_contiguous
    )
    return array.copy(order) if wrong else array


def _converted(source: Any, dtype: Any) -> Array:
    """A list of device arrays is stacked on the device; other sources as by `cupola.asarray`."""
    if isinstance(source, (list, tuple)) and any(isinstance(one, Array) for one in source):
        source = cupola.stack([cupola.asarray(one) for one in source])
    return cupola.asarray(source, dtype)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Array:
    """``numpy.asarray(a, like=array)``: device memory as it is, host data as a copy."""
    if device is not None:
        raise ArgumentTypeError("asarray: argument device: use cupola.to_device(a, device=...)")
    found = _in_order(_converted(a, dtype), order)
    return found.copy("K") if copy and found is a else found


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Array:
    """``numpy.asanyarray(a, like=array)``."""
    return asarray(a, dtype, order, **options)


def array(
    object: Any,  # noqa: A002 - NumPy's name
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> Array:
    """``numpy.array(object, like=array)``: a copy unless ``copy=None``."""
    found = asarray(object, dtype, order)
    if copy and found is object:
        found = found.copy("K")
    return (
        found if found.ndim >= ndmin else found.reshape((1,) * (ndmin - found.ndim) + found.shape)
    )


def copy(a: Array, order: Any = "K", subok: bool = False) -> Array:
    """``numpy.copy(array)``."""
    return a.copy(order)


def ravel(a: Array, order: Any = "C") -> Array:
    """``numpy.ravel(array)``."""
    return a.ravel(order)


def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    """``numpy.ascontiguousarray(a, like=array)``."""
    found = asarray(a, dtype, "C")
    return found if found.ndim else found.reshape(1)


def asfortranarray(a: Any, dtype: Any = None) -> Array:
    """``numpy.asfortranarray(a, like=array)``."""
    return asarray(a, dtype, "F")


def arange(*limits: Any, device: Any = None, **named: Any) -> Array:
    """``numpy.arange(start, stop, step, dtype, like=array)``."""
    return cupola.asarray(np.arange(*limits, **named))


def empty(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """``numpy.empty(shape, like=array)``."""
    return cupola.empty(shape, float if dtype is None else dtype, order=order)


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Array:  # fmt: skip
    """``numpy.empty_like(array)``, for dtypes that arrays of a device compute with.

    Callers of NumPy's function fill the fields of a structured array, so that one is refused:
    Dask then uses several arrays.
    """
    if dtype is not None and np.dtype(dtype).names is not None:
        raise ArgumentTypeError(
            "empty_like: argument dtype: NumPy's function makes no structured arrays on a device; "
            "use cupola.empty_like"
        )
    return cupola.empty_like(prototype, dtype, order=order, shape=shape)


def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Array:  # fmt: skip
    """``numpy.zeros_like(array)``."""
    return cupola.zeros_like(a, dtype, order=order, shape=shape)


def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Array:  # fmt: skip
    """``numpy.ones_like(array)``."""
    return cupola.ones_like(a, dtype, order=order, shape=shape)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Array:  # fmt: skip
    """``numpy.full_like(array, value)``."""
    return cupola.full_like(a, fill_value, dtype, order=order, shape=shape)


def zeros(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """``numpy.zeros(shape, like=array)``."""
    return cupola.zeros(shape, float if dtype is None else dtype, order=order)


def ones(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Array:
    """``numpy.ones(shape, like=array)``."""
    return cupola.ones(shape, float if dtype is None else dtype, order=order)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None
) -> Array:
    """``numpy.full(shape, value, like=array)``."""
    return cupola.full(shape, fill_value, dtype, order=order)
