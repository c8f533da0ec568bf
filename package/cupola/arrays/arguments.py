# cupola/arrays/arguments.py - checks of arguments that functions on arrays share.
"""Arrays of one device, axes and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.rows import axis_of
from cupola.creation import to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def is_device_array(value: Any) -> bool:
    """Whether it is an array in a device's memory, of any library."""
    if isinstance(value, Array):
        return True
    if isinstance(value, (np.ndarray, np.generic)):
        return False
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__")


def current_values(host: np.ndarray[Any, Any], device: int) -> Array:
    """A copy on a device of what a host array holds now.

    For arguments that are checked on the host, such as edges: a launch of a captured graph would
    not check them again. `to_device` makes a node that reads the host array at each launch.
    """
    copy: Array = to_device(host.astype(host.dtype.newbyteorder("=")), device=device)
    return copy


def require_device(title: str, name: str, array: Array, device: int) -> None:
    """Check that an array is on the device of the other arguments."""
    if array.device_index != device:
        raise ArgumentValueError(
            f"{title}: argument {name} is on device {array.device_index}, and another argument on "
            f"device {device}: copy it with cupola.to_device({name}, device={device})"
        )


def require_writable(title: str, name: str, array: Any) -> None:
    """Check that a result can be written."""
    if not isinstance(array, Array):
        raise ArgumentTypeError(
            f"{title}: argument {name}: expected a cupola.Array, got a {type(array).__name__}"
        )
    if not array.flags.writeable:
        raise ArgumentValueError(f"{title}: argument {name} is read-only")


def integer_of(title: str, name: str, value: Any) -> int:
    """A Python int."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(
            f"{title}: argument {name}: expected an int, got a {type(value).__name__}"
        )
    return int(value.__index__())


def axes_of(title: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Different axes, counted from the first one."""
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = tuple([axis_of(title, axis, ndim) for axis in listed])
    if len(set(found)) != len(found):
        raise ArgumentValueError(f"{title}: argument axis names an axis twice: {axes}")
    return found


def result(title: str, made: Array, out: Any) -> Array:
    """The result itself, or `out` with the result's elements."""
    if out is None:
        return made
    require_writable(title, "out", out)
    if out.shape != made.shape:
        raise ArgumentValueError(
            f"{title}: argument out has the shape {out.shape}, the result {made.shape}"
        )
    if not np.can_cast(made.dtype, out.dtype, "same_kind"):
        raise ArgumentTypeError(
            f"{title}: argument out has the dtype {out.dtype}, to which {made.dtype} can't be cast "
            "by the rule 'same_kind'"
        )
    out[...] = made if made.dtype == out.dtype else made.astype(out.dtype)
    found: Array = out
    return found
