# cupola/arrays/rows.py - arguments of algorithms along an axis, as rows in memory.
"""Arrays and axes of functions that work along one axis."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.element_types import MOVES, TAKES, require_elements, require_native
from cupola.creation import asarray
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def array_of(function: str, name: str, value: Any) -> Array:
    """An array argument; arrays of other libraries become views.

    Raises
    ------
    ArgumentTypeError
        Where it is no array of a device, or the function has no kernel for its elements.
    """
    array = value if isinstance(value, Array) else _view(function, name, value)
    elements = TAKES.get((function, name))
    if elements is not None:
        require_elements(function, name, array, elements)
    elif function in MOVES:
        require_native(function, name, array)
    return array


def _view(function: str, name: str, value: Any) -> Array:
    of_device = hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack_device__")
    if of_device and not isinstance(value, (np.ndarray, np.generic)):
        return asarray(value)
    raise ArgumentTypeError(
        f"{function}: argument {name}: expected a cupola.Array, got {type(value).__name__}; copy "
        f"it to a device with cupola.to_device({name})"
    )


def axis_of(function: str, axis: Any, ndim: int) -> int:
    """An axis, counted from the first one.

    Raises
    ------
    ArgumentTypeError
        Where it is no integer.
    ArgumentValueError
        Where the array has no such axis.
    """
    try:
        found = operator.index(axis)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument axis: expected an int or None, got {axis!r}"
        ) from None
    if not -ndim <= found < ndim:
        raise ArgumentValueError(
            f"{function}: argument axis: {found} is out of bounds for an array of {ndim} axes"
        )
    return found % ndim


def with_axis(x: Array, axis: Any) -> Array:
    """The array, of one axis where it has none and `axis` is 0 or -1, as in NumPy's methods."""
    if x.ndim == 0 and not isinstance(axis, bool) and hasattr(axis, "__index__"):
        return x.reshape(1) if operator.index(axis) in (0, -1) else x
    return x


def packed(x: Array) -> Array:
    """The array, or a copy where its elements are not one after another and aligned."""
    if x.flags.c_contiguous and (x.size == 0 or x.ptr % min(x.itemsize, 16) == 0):
        return x
    return x.copy()


class Rows(NamedTuple):
    """An array whose last axis is the axis of a call."""

    x: Array  # contiguous
    axis: int  # the axis in the shape of the result
    shape: tuple[int, ...]  # shape of the result

    @property
    def n(self) -> int:
        """Elements of a row."""
        return self.x.shape[-1]

    @property
    def count(self) -> int:
        """The number of rows; at least 1."""
        return max(self.x.size // max(self.n, 1), 1)

    def restored(self, rows: Array) -> Array:
        """A result of rows, with the axes in the order of the argument."""
        last = len(self.shape) - 1
        if self.axis == last:
            return rows.reshape(self.shape)
        order = list(range(last))
        order.insert(self.axis, last)
        return rows.transpose(*order).copy()


def rows_of(function: str, x: Array, axis: Any) -> Rows:
    """The rows along an axis; None is the flattened array."""
    if axis is None:
        flat = packed(x).reshape(-1)
        return Rows(flat, 0, flat.shape)
    axis = axis_of(function, axis, x.ndim)
    if axis == x.ndim - 1:
        return Rows(packed(x), axis, x.shape)
    order = [*(k for k in range(x.ndim) if k != axis), axis]
    return Rows(packed(x.transpose(*order)), axis, x.shape)
