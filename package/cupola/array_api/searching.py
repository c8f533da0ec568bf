# cupola/array_api/searching.py - sorts, searches, sets and elements by index.
"""The standard's functions that look for elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import cupola
from cupola.array import Array
from cupola.exceptions import ArgumentValueError

Axes = int | tuple[int, ...] | None


class UniqueAll(NamedTuple):
    """Distinct elements, their first indices, each element's place among them, and their counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Distinct elements and their counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Distinct elements, and each element's place among them."""

    values: Array
    inverse_indices: Array


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the first greatest element."""
    return x.argmax(axis, keepdims=keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index of the first least element."""
    return x.argmin(axis, keepdims=keepdims)


def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The number of elements that are not zero."""
    return cupola.count_nonzero(x, axis, keepdims=keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The indices of elements that are not zero, an array for each axis. Waits for their number."""
    if not x.ndim:
        raise ArgumentValueError("nonzero: expected an array with axes, got one without")
    return tuple(cupola.nonzero(x))


def searchsorted(
    x1: Array, x2: Any, /, *, side: str = "left", sorter: Array | None = None
) -> Array:
    """Where elements of `x2` belong in the sorted array `x1`."""
    return cupola.searchsorted(x1, x2, side, sorter)


def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Elements of `x1` where a condition holds, else of `x2`."""
    return cupola.where(condition, x1, x2)


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Elements by their indices along an axis, which arrays of one axis may leave out."""
    if axis is None:
        if x.ndim != 1:
            raise ArgumentValueError(f"take: axis is needed for an array of {x.ndim} axes")
        axis = 0
    return cupola.take(x, indices, axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Elements by an index for each position of the other axes."""
    return cupola.take_along_axis(x, indices, axis)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis."""
    made = cupola.sort(x, axis, stable=stable)
    return cupola.flip(made, axis) if descending else made


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The indices that sort the array along an axis."""
    if not descending:
        return cupola.argsort(x, axis, stable=stable)
    # Equal elements keep their order where the reversed array is sorted, and the result reversed.
    made = cupola.flip(cupola.argsort(cupola.flip(x, axis), axis, stable=stable), axis)
    return x.shape[axis] - 1 - made


def unique_all(x: Array, /) -> UniqueAll:
    """Distinct elements in order, with indices and counts. Waits for their number."""
    values, indices, inverse, counts = cupola.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAll(values, indices, inverse.reshape(x.shape), counts)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Distinct elements in order, with counts. Waits for their number."""
    return UniqueCounts(*cupola.unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Distinct elements in order, and where each element is. Waits for their number."""
    values, inverse = cupola.unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Array, /) -> Array:
    """Distinct elements in order. Waits for their number."""
    found: Array = cupola.unique(x, equal_nan=False)
    return found
