# cupola/arrays/outputs.py - results in new arrays, and in `out`.
"""The arrays that algorithms write."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.layouts import overlap
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def check_out(
    function: str, out: Any, x: Array, shape: tuple[int, ...], dtype: np.dtype
) -> Array | None:
    """The array for a result; None where there is no `out`.

    Raises
    ------
    ArgumentTypeError
        Where it is no array, or the result has another kind of type.
    ArgumentValueError
        Where it has another shape, is on another device or read-only.
    """
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if out is None:
        return None
    where = f"{function}: argument out"
    if not isinstance(out, Array):
        raise ArgumentTypeError(f"{where}: expected a cupola.Array, got {type(out).__name__}")
    if out.device_index != x.device_index:
        raise ArgumentValueError(
            f"{where}: it is on device {out.device_index}, and the array on device "
            f"{x.device_index}: expected the same device"
        )
    if out.shape != shape:
        raise ArgumentValueError(f"{where}: expected the shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ArgumentValueError(f"{where}: expected an array to write, got a read-only one")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise ArgumentTypeError(
            f"{where}: a result of {dtype} is not stored in {out.dtype}: the cast is not of the "
            "same kind"
        )
    return out


def target_of(out: Array | None, x: Array, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """The array that a kernel writes: `out` if the kernel can write to it, else a new array."""
    if (
        out is not None
        and out.flags.c_contiguous
        and (out.dtype, out.shape) == (dtype, shape)
        and out.size
        and out.ptr % out.itemsize == 0
        and not overlap(out, x)
    ):
        return out
    return empty(shape, dtype, device=x.device_index)


def stored(out: Array | None, result: Array) -> Array:
    """The result; with `out`, a copy in `out`."""
    if out is None or out is result:
        return result
    if out.size:
        out[...] = result if result.dtype == out.dtype else result.astype(out.dtype)
    return out
