# cupola/nccl/arguments.py - checks of what operations of a communicator are given.
"""Arrays, ranks and streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import integer_of, require_writable
from cupola.arrays.layouts import overlap
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def array_of(title: str, name: str, value: Any, device: int, writable: bool = False) -> Array:
    """An array that NCCL takes: on the communicator's device, contiguous in C order."""
    if not isinstance(value, Array):
        raise ArgumentTypeError(
            f"{title}: argument {name}: expected a cupola.Array, got {type(value).__name__}: use "
            f"cupola.from_dlpack({name}) for an array of another library, cupola.to_device({name}) "
            "for one of NumPy"
        )
    if value.device_index != device:
        raise ArgumentValueError(
            f"{title}: argument {name} is on device {value.device_index}, the communicator on "
            f"device {device}: expected the same device; copy it with "
            f"cupola.to_device({name}, device={device})"
        )
    if not value.flags.c_contiguous:
        raise ArgumentValueError(
            f"{title}: argument {name}: expected an array that is contiguous in C order, got the "
            f"shape {value.shape} with the strides {value.strides}: use {name}.copy()"
        )
    if writable:
        require_writable(title, name, value)
    return value


def check_out(title: str, out: Any, x: Array, shape: tuple[int, ...]) -> Array:
    """The array for a result of x's type."""
    found = array_of(title, "out", out, x.device_index, writable=True)
    if (found.shape, found.dtype) != (shape, x.dtype):
        raise ArgumentValueError(
            f"{title}: argument out: expected the shape {shape} and the dtype {x.dtype}, got "
            f"{found.shape} and {found.dtype}"
        )
    return found


def check_overlap(title: str, x: Array, out: Array, in_place: int | None) -> None:
    """Check that the two are apart, or in place as NCCL defines it.

    Parameters
    ----------
    in_place : int or None
        How many bytes `out` begins behind `x` for an operation in place; None where there is none.
    """
    if out.ptr - x.ptr != in_place and overlap(x, out):
        where = "" if in_place is None else f", or {in_place} bytes behind the start of x"
        raise ArgumentValueError(
            f"{title}: argument out overlaps x: expected other memory{where}; use another array"
        )


def rank_of(title: str, name: str, value: Any, size: int) -> int:
    """The number of a rank."""
    rank = integer_of(title, name, value)
    if not 0 <= rank < size:
        raise ArgumentValueError(
            f"{title}: argument {name}: expected a rank, 0 to {size - 1}, got {rank}"
        )
    return rank


def parts_of(title: str, x: Array, size: int) -> tuple[int, ...]:
    """The shape of a rank's part of an array whose first axis is the ranks."""
    if not x.ndim or x.shape[0] != size:
        raise ArgumentValueError(
            f"{title}: argument x: expected a first axis of {size} parts, one for each rank, got "
            f"the shape {x.shape}: use x.reshape({size}, -1)"
        )
    return x.shape[1:]


def bytes_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes of an array of a shape."""
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
