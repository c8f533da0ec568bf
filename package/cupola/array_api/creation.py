# cupola/array_api/creation.py - new arrays.
"""The standard's functions that make arrays, over those of `cupola.creation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola import creation
from cupola.array import Array, read_now
from cupola.dlpack import from_dlpack as exchange
from cupola.exceptions import ArgumentValueError


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """An array of the elements of an array, a buffer, or nested sequences.

    Parameters
    ----------
    obj : Array, array_like, or device memory
    dtype : data type, optional
    device : Device or int, optional
        By default that of `obj`, else the current one.
    copy : bool, optional
        True: always a copy. False: an error where a copy is needed. None: where needed.

    Raises
    ------
    ArgumentValueError
        Where ``copy=False`` and there is no array without a copy.
    """
    if isinstance(obj, Array) or (not isinstance(obj, np.ndarray) and _is_device_memory(obj)):
        source = creation.asarray(obj)
        made: Array = source if dtype is None else source.astype(dtype, copy=False)
        if device is not None:
            made = made.to_device(device)
        if copy and made is source:
            return made.copy()
        if copy is False and made is not source:
            raise ArgumentValueError(
                "asarray: copy=False, and another data type or device needs a copy"
            )
        return made
    if copy is False:
        raise ArgumentValueError(
            f"asarray: copy=False, and the elements of a {type(obj).__name__} are copied to the "
            "device"
        )
    if isinstance(obj, (list, tuple)):
        obj = _on_host(obj)
    return creation.to_device(obj, dtype, device=device)


def _is_device_memory(obj: Any) -> bool:
    return hasattr(obj, "__cuda_array_interface__") or hasattr(obj, "__dlpack__")


def _on_host(obj: Any) -> Any:
    """Nested sequences with host copies of arrays."""
    if isinstance(obj, (list, tuple)):
        return [_on_host(one) for one in obj]
    return read_now(obj, "asarray of arrays in a sequence") if isinstance(obj, Array) else obj


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array, through DLPack.

    Parameters
    ----------
    x : object with ``__dlpack__``
    device : Device or int, optional
        By default its own; host memory is copied to the current device.
    copy : bool, optional
        True: always a copy. False: an error where a copy is needed. None: where needed.
    """
    if (
        hasattr(x, "__dlpack_device__")
        and x.__dlpack_device__()[0] == 1
        and not isinstance(x, Array)
    ):
        return asarray(np.from_dlpack(x), device=device, copy=copy)
    return asarray(exchange(x), device=device, copy=copy)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array with uninitialized elements."""
    return creation.empty(shape, float if dtype is None else dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of zeros."""
    return creation.zeros(shape, float if dtype is None else dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of ones."""
    return creation.ones(shape, float if dtype is None else dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of one value."""
    return creation.full(shape, fill_value, dtype, device=device)


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of the shape of another, with uninitialized elements."""
    return creation.empty_like(x, dtype, device=device)


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of the shape of another, of zeros."""
    return creation.zeros_like(x, dtype, device=device)


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of the shape of another, of ones."""
    return creation.ones_like(x, dtype, device=device)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of the shape of another, of one value."""
    return creation.full_like(x, fill_value, dtype, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Array:
    """Evenly spaced numbers of a half-open interval; the host makes them."""
    limits = (0, start, step) if stop is None else (start, stop, step)
    return creation.arange(*limits, dtype=dtype, device=device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """A number of evenly spaced numbers; the host makes them."""
    numbers = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    return creation.to_device(numbers, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Array:
    """A matrix with ones on a diagonal; the host makes it."""
    numbers = np.eye(n_rows, n_cols, k, float if dtype is None else dtype)
    return creation.to_device(numbers, device=device)


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Coordinate matrices of coordinate vectors, as copies.

    Parameters
    ----------
    *arrays : Array
        Of one axis each.
    indexing : {"xy", "ij"}
        Whether the first two axes of the results are exchanged.
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    count = len(arrays)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    shape = [0] * count
    for array, axis in zip(arrays, axes, strict=True):
        shape[axis] = array.size
    results = []
    for array, axis in zip(arrays, axes, strict=True):
        made = creation.empty(tuple(shape), array.dtype, device=array.device)
        made[...] = array.reshape([-1 if one == axis else 1 for one in range(count)])
        results.append(made)
    return results
