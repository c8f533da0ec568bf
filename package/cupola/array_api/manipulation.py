# cupola/array_api/manipulation.py - shapes, orders and joins of arrays.
"""The standard's functions that move elements, over cupola's of NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupola
from cupola.array import Array
from cupola.exceptions import ArgumentValueError

Axes = int | tuple[int, ...] | None


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """The arrays as views of one shape."""
    return list(cupola.broadcast_arrays(*arrays))


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """A view of another shape, whose new axes repeat the elements."""
    return cupola.broadcast_to(x, shape)


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis; None flattens them first."""
    return cupola.concatenate(arrays, axis)


def expand_dims(x: Array, /, axis: int) -> Array:
    """A view with a new axis of length 1."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"expand_dims: there is no axis {axis} in a result of {x.ndim + 1} axes")
    return cupola.expand_dims(x, axis)


def flip(x: Array, /, *, axis: Axes = None) -> Array:
    """The elements in reverse order along axes; None is all."""
    return cupola.flip(x, axis)


def moveaxis(x: Array, source: Any, destination: Any, /) -> Array:
    """A view with axes at other positions."""
    return cupola.moveaxis(x, source, destination)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """A view with its axes in another order."""
    return x.transpose(axes)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Each element several times along an axis; None flattens the array first."""
    return cupola.repeat(x, repeats, axis)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The same elements in another shape.

    Parameters
    ----------
    x : Array
    shape : tuple of int
        One size may be -1.
    copy : bool, optional
        True: always a copy. False: an error where a copy is needed. None: where needed.
    """
    made = x.reshape(shape)
    shares = not x.size or made.ptr == x.ptr
    if copy is False and not shares:
        raise ArgumentValueError("reshape: copy=False, and the strides of this shape need a copy")
    return made.copy() if copy and shares else made


def roll(x: Array, /, shift: Any, *, axis: Axes = None) -> Array:
    """The elements moved along axes; the last ones come first."""
    return cupola.roll(x, shift, axis)


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """A view without some axes of length 1."""
    return cupola.squeeze(x, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The arrays along a new axis."""
    return cupola.stack(arrays, axis)


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """The array several times along each axis."""
    return cupola.tile(x, repetitions)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the slices along an axis."""
    first = cupola.moveaxis(x, axis, 0)
    return tuple(first[number] for number in range(first.shape[0]))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and below a diagonal of matrices; others are zero."""
    return cupola.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The elements on and above a diagonal of matrices; others are zero."""
    return cupola.triu(x, k)
