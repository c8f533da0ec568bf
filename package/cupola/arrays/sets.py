# cupola/arrays/sets.py - arrays as sets: elements without their repetitions.
"""`unique`, and functions of two sets over it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array, require_device
from cupola.arrays.compaction import FOR_SETS, FOR_VALUES, nonzero_of, select
from cupola.arrays.distinct import distinct
from cupola.arrays.gather import put_into, take_from
from cupola.arrays.joins import concatenate
from cupola.arrays.launching import launch
from cupola.arrays.positions import CHECKED, CLIP, Positions
from cupola.arrays.rows import array_of, axis_of, packed
from cupola.arrays.scans import cumsum
from cupola.arrays.searching import ELEMENTS, as_type, searched
from cupola.arrays.shapes import moveaxis
from cupola.arrays.sorts import argsort, lexsort, sort
from cupola.creation import arange, empty, full, to_device, zeros
from cupola.stream import refuse_captured

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique"]


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: Any = None, *, equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002 - NumPy's name
) -> Any:  # fmt: skip
    """The different elements in ascending order, as ``numpy.unique``.

    Parameters
    ----------
    ar : Array
        It is flattened where there is no `axis`.
    return_index : bool
        Also return the first index of each element.
    return_inverse : bool
        Also return, in the shape of `ar`, the place of each element in the result.
    return_counts : bool
        Also return how often each element occurs.
    axis : int, optional
        The axis whose slices are the elements. They are sorted by their first number, then by the
        second one, and so on: one sort for each number of a slice.
    equal_nan : bool
        Whether all NaN are one element; of slices with NaN none are equal.
    sorted : bool
        Without effect: the result is always sorted.

    Returns
    -------
    Array, or tuple of Array
        Elements; indices, places and counts are of int64.

    Raises
    ------
    ArgumentValueError
        While the stream is being captured: the call waits for the number of elements.
    """
    array = array_of("unique", "ar", ar)
    refuse_captured(array.device_index, "unique", FOR_VALUES)
    if axis is not None:
        number = axis_of("unique", axis, array.ndim)
    if axis is not None and array.ndim > 1:
        return _unique_slices(array, number, return_index, return_inverse, return_counts)
    flat = packed(array.reshape(-1))
    if not (return_index or return_inverse or return_counts) and flat.dtype.kind != "c":
        return distinct(flat, bool(equal_nan))
    order = argsort(flat) if return_index or return_inverse else None
    known = sort(flat) if order is None else _at(flat, order)
    flags = _changes(known, equal_nan)
    if order is None and not return_counts:
        return select(known, flags, "unique")
    starts = nonzero_of(flags, "unique")[0]
    found = [_at(known, starts)]
    if order is not None and return_index:
        found.append(_at(order, starts))
    if order is not None and return_inverse:
        found.append(_places(order, flags).reshape(array.shape))
    if return_counts:
        found.append(_counts(starts, flat.size))
    return tuple(found)


def _places(order: Array, flags: Array) -> Array:
    """The place of each element among the different ones, from the order of a sort."""
    device, size = order.device_index, order.size
    places = empty(order.shape, np.int64, device=device)
    of = Positions("unique", [order], [0], [size], device, CHECKED, different=True)
    if size:
        put_into(places, 0, of, cumsum(flags, dtype=np.int64) - 1)
    return places


def _counts(starts: Array, size: int) -> Array:
    """The lengths of runs of equal elements."""
    end = full(1, size, np.int64, device=starts.device_index)
    found: Array = concatenate([starts[1:], end[: starts.size]]) - starts
    return found


def _unique_slices(array: Array, axis: int, index: bool, inverse: bool, counts: bool) -> Any:
    first = moveaxis(array, axis, 0)
    n, device = first.shape[0], array.device_index
    rows = packed(first).reshape(n, math.prod(first.shape[1:]))
    flags: Array = zeros(n, np.bool_, device=device)
    order = arange(n, device=device)
    if rows.size:
        order = lexsort([rows[:, column] for column in reversed(range(rows.shape[1]))])
        known = take_from(rows, 0, Positions("unique", [order], [0], [n], device, CHECKED))
        flags[1:] = np.not_equal(known[1:], known[:-1]).any(1)
    flags[:1] = True  # without numbers, all are equal
    starts = nonzero_of(flags, "unique")[0]
    kept = _at(order, starts)
    of = Positions("unique", [kept], [0], [n], device, CHECKED)
    found = [moveaxis(take_from(first, 0, of), 0, axis)]
    if index:
        found.append(kept)
    if inverse:
        found.append(_places(order, flags))
    if counts:
        found.append(_counts(starts, n))
    return found[0] if len(found) == 1 else tuple(found)


def _changes(known: Array, equal_nan: bool) -> Array:
    """Whether elements of a sorted array are the first of equal ones."""
    flags: Array = empty(known.shape, np.bool_, device=known.device_index)
    if known.size:
        name = f"search_changes_{ELEMENTS[known.dtype.char]}"
        launch(
            "search", name, known.device_index, known.size, known, flags, known.size,
            int(equal_nan),
        )  # fmt: skip
    return flags


def _at(array: Array, index: Array) -> Array:
    """Elements of an array with one axis, at indices that are in range."""
    device = array.device_index
    return take_from(array, 0, Positions("unique", [index], [0], [array.size], device, CHECKED))


def union1d(ar1: Any, ar2: Any) -> Array:
    """The different elements of both arrays, as ``numpy.union1d``; waits as `unique` does."""
    found: Array = unique(concatenate(_two("union1d", ar1, ar2, FOR_VALUES), axis=None))
    return found


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The different elements that are in both arrays, as ``numpy.intersect1d``.

    Parameters
    ----------
    ar1, ar2 : Array
    assume_unique : bool
        No array has equal elements.
    return_indices : bool
        Also return the first index of each element in both arrays.

    Returns
    -------
    Array, or tuple of Array
        The call waits as `unique` does.
    """
    one, other = _two("intersect1d", ar1, ar2)
    one, other = one.reshape(-1), other.reshape(-1)
    first = second = None
    if not assume_unique:
        one, first = unique(one, return_index=True)
        other, second = unique(other, return_index=True)
    joined = concatenate([one, other])
    order = argsort(joined)
    known = _at(joined, order)
    starts = nonzero_of(known[1:] == known[:-1], "intersect1d")[0]
    found = _at(known, starts)
    if not return_indices:
        return found
    at, also = _at(order, starts), _at(order, starts + 1) - one.size
    if first is not None and second is not None:
        at, also = _at(first, at), _at(second, also)
    return found, at, also


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Array:  # fmt: skip
    """Whether each element is among others, as ``numpy.isin``; it does not wait.

    Parameters
    ----------
    element : Array
    test_elements : Array or array_like
    assume_unique, kind
        Without effect.
    invert : bool
        Whether it is not among them.

    Returns
    -------
    Array
        Of bool and the shape of `element`. NaN is equal to nothing.
    """
    array = array_of("isin", "element", element)
    if not is_device_array(test_elements):
        test_elements = to_device(test_elements, device=array.device_index)
    others = array_of("isin", "test_elements", test_elements).reshape(-1)
    require_device("isin", "test_elements", others, array.device_index)
    if others.size == 0:
        return full(array.shape, bool(invert), np.bool_, device=array.device_index)
    common = np.result_type(array.dtype, others.dtype)
    values, known = as_type(array, common), sort(as_type(others, common))
    places = searched("isin", known, values, False, None)
    of = Positions("isin", [places], [0], [known.size], array.device_index, CLIP)
    nearest = take_from(known, 0, of)
    found: Array = nearest != values if invert else nearest == values
    return found


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The different elements of the first array that are not in the second array.

    Like ``numpy.setdiff1d``; the call waits as `unique` does.
    """
    one, other = _two("setdiff1d", ar1, ar2)
    known = one.reshape(-1) if assume_unique else unique(one)
    return select(known, isin(known, other, invert=True), "setdiff1d")


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The different elements that are in one of the arrays alone, in ascending order.

    Like ``numpy.setxor1d``; the call waits as `unique` does.
    """
    one, other = _two("setxor1d", ar1, ar2)
    parts = [each.reshape(-1) if assume_unique else unique(each) for each in (one, other)]
    known = sort(concatenate(parts))
    flags = concatenate([_changes(known, False), full(1, True, device=known.device_index)])
    return select(known, flags[1:] & flags[:-1], "setxor1d")


def _two(title: str, ar1: Any, ar2: Any, remedy: str = FOR_SETS) -> tuple[Array, Array]:
    one, other = array_of(title, "ar1", ar1), array_of(title, "ar2", ar2)
    refuse_captured(one.device_index, title, remedy)
    require_device(title, "ar2", other, one.device_index)
    return one, other
