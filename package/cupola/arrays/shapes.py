# cupola/arrays/shapes.py - views with other axes.
"""Views of the same memory: no work is queued."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays import layouts
from cupola.arrays.arguments import axes_of
from cupola.arrays.rows import array_of, axis_of, with_axis
from cupola.creation import strided_view
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "moveaxis",
    "rollaxis",
    "squeeze",
    "swapaxes",
]


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """A read-only view of another shape, as ``numpy.broadcast_to``.

    Parameters
    ----------
    array : Array
    shape : int or sequence of int
    subok : bool
        Without effect: there are no subclasses.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentValueError
        Where the array does not broadcast to the shape.
    """
    wanted = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        lengths = tuple([length.__index__() for length in wanted])
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"broadcast_to: argument shape: expected ints, got {shape!r}"
        ) from None
    if min(lengths, default=0) < 0:
        raise ArgumentValueError(f"broadcast_to: argument shape has negative lengths: {lengths}")
    return _read_only(layouts.broadcast_to(array_of("broadcast_to", "array", array), lengths))


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Read-only views of all arrays with their common shape, as ``numpy.broadcast_arrays``."""
    arrays = [array_of("broadcast_arrays", "args", one) for one in args]
    try:
        shape = np.broadcast_shapes(*[one.shape for one in arrays])
    except ValueError:
        listed = ", ".join([str(one.shape) for one in arrays])
        raise ArgumentValueError(
            f"broadcast_arrays: the arrays have shapes that do not broadcast: {listed}"
        ) from None
    return tuple([_read_only(layouts.broadcast_to(one, shape)) for one in arrays])


def _read_only(view: Array) -> Array:
    made: Array = strided_view(view, view.shape, view.strides, readonly=True)
    return made


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """A view with some axes at other places, as ``numpy.moveaxis``.

    Parameters
    ----------
    a : Array
    source, destination : int or sequence of int
        The axes, and their places in the view.
    """
    array = array_of("moveaxis", "a", a)
    origin = axes_of("moveaxis", source, array.ndim)
    target = axes_of("moveaxis", destination, array.ndim)
    if len(origin) != len(target):
        raise ArgumentValueError(
            f"moveaxis: {len(origin)} axes in source and {len(target)} in destination"
        )
    order = [axis for axis in range(array.ndim) if axis not in origin]
    for place, axis in sorted(zip(target, origin, strict=True)):
        order.insert(place, axis)
    return _transposed(array, order)


def rollaxis(a: Any, axis: Any, start: Any = 0) -> Array:
    """A view with one axis before another one, as ``numpy.rollaxis``.

    Parameters
    ----------
    a : Array
    axis, start : int
        `start` may be the number of axes, for the last place.
    """
    array = array_of("rollaxis", "a", a)
    number = axis_of("rollaxis", axis, array.ndim)
    first = axis_of("rollaxis", start, array.ndim + 1) if start >= 0 else start + array.ndim
    if not 0 <= first <= array.ndim:
        raise ArgumentValueError(
            f"rollaxis: argument start is {start}, and the array has {array.ndim} axes"
        )
    order = [each for each in range(array.ndim) if each != number]
    order.insert(first - (number < first), number)
    return _transposed(array, order)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Array:
    """A view with two axes exchanged, as ``numpy.swapaxes``."""
    array = array_of("swapaxes", "a", a)
    one = axis_of("swapaxes", axis1, array.ndim)
    other = axis_of("swapaxes", axis2, array.ndim)
    order = list(range(array.ndim))
    order[one], order[other] = other, one
    return _transposed(array, order)


def _transposed(array: Array, order: list[int]) -> Array:
    view: Array = array.transpose(order) if order else array
    return view


def expand_dims(a: Any, axis: Any) -> Array:
    """A view with new axes of length 1, as ``numpy.expand_dims``.

    Parameters
    ----------
    a : Array
    axis : int or tuple of int
        Their places in the view.
    """
    array = array_of("expand_dims", "a", a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    places = axes_of("expand_dims", axis, array.ndim + count)
    view: Array = array[
        tuple([None if at in places else slice(None) for at in range(array.ndim + count)])
    ]
    return view


def squeeze(a: Any, axis: Any = None) -> Array:
    """A view without axes of length 1, as ``numpy.squeeze``.

    Parameters
    ----------
    a : Array
    axis : int or tuple of int, optional
        By default all axes of length 1.
    """
    array = array_of("squeeze", "a", a)
    gone = [at for at, length in enumerate(array.shape) if length == 1]
    if axis is not None:
        if isinstance(axis, list):
            raise ArgumentTypeError(
                f"squeeze: argument axis: expected an int, a tuple or None, got {axis!r}"
            )
        if array.ndim == 0 and not isinstance(axis, tuple):
            axis = () if with_axis(array, axis).ndim else axis
        wanted = axes_of("squeeze", axis, array.ndim)
        for at in wanted:
            if at not in gone:
                raise ArgumentValueError(
                    f"squeeze: argument axis names axis {at}, which has {array.shape[at]} elements"
                )
        gone = list(wanted)
    view: Array = array[tuple([0 if at in gone else slice(None) for at in range(array.ndim)])]
    return view


def atleast_1d(*arys: Any) -> Any:
    """Views with at least one axis; of several arrays a tuple, as ``numpy.atleast_1d``."""
    return _each("atleast_1d", arys, lambda one: one.reshape(1) if one.ndim == 0 else one)


def atleast_2d(*arys: Any) -> Any:
    """Views with at least two axes; of several arrays a tuple, as ``numpy.atleast_2d``."""
    return _each("atleast_2d", arys, _two)


def atleast_3d(*arys: Any) -> Any:
    """Views with at least three axes; of several arrays a tuple, as ``numpy.atleast_3d``."""
    return _each("atleast_3d", arys, lambda one: _two(one)[..., None] if one.ndim < 3 else one)


def _two(array: Array) -> Any:
    return array[(None,) * (2 - array.ndim)] if array.ndim < 2 else array


def _each(title: str, arrays: tuple[Any, ...], view: Any) -> Any:
    found = tuple([view(array_of(title, "arys", one)) for one in arrays])
    return found[0] if len(found) == 1 else found
