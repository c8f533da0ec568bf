# cupola/arrays/scans.py - cumulative sums, products, minima and maxima.
"""Scans of arrays, by NumPy's rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.element_types import NUMBERS, require_elements
from cupola.arrays.images import kernel
from cupola.arrays.operations import OPERATIONS, PRODUCT, SUM, Operation, operation_of
from cupola.arrays.outputs import check_out, stored, target_of
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, axis_of, packed, with_axis
from cupola.creation import empty, zeros
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import (
    SCAN_ITEMS_4,
    SCAN_ITEMS_8,
    SCAN_ITEMS_16,
    SCAN_THREADS,
    SCAN_TILE_THREADS,
)

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]

_SHORT = 1024  # the longest rows that a warp scans
_COLUMNS = 4096  # this number of columns fills a device


@planned
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """The sums of each element and those before it.

    Elements are combined in an order that follows from the shape and the axis alone, so a result
    has the same bits in each run. float16 is added in float32. The rounding error of an element is
    at most ``(80 + n / 2^20) * eps`` times the sum of the absolute values to it. The work is queued
    on the current stream.

    Parameters
    ----------
    a : Array
        Of bool, integers, floats or complex numbers.
    axis : int or None, optional
        The axis of the sums; None adds the elements of the flattened array.
    dtype : data-type, optional
        The computed and result type. By default NumPy's: integers give int64 or uint64.
    out : Array, optional
        The output, of the shape of the result and a type of the same kind; it may be `a`.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type, or there is no kernel for the type.
    ArgumentValueError
        Where there is no such axis, or `out` does not fit.
    """
    return _scan("cumsum", SUM, with_axis(array_of("cumsum", "a", a), axis), axis, dtype, out)


@planned
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
    """The products of each element and those before it.

    The parameters, types and errors are those of `cumsum`. The relative rounding error of a product
    of n elements is at most ``n * eps``, of complex ones ``4 * n * eps``.
    """
    x = with_axis(array_of("cumprod", "a", a), axis)
    return _scan("cumprod", PRODUCT, x, axis, dtype, out)


@planned
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None,
    include_initial: bool = False,
) -> Array:  # fmt: skip
    """The sums of each element and those before it, as the array API standard has them.

    Parameters
    ----------
    x : Array
    axis : int, optional
        Required where `x` has several axes.
    dtype, out : optional
        As for `cumsum`.
    include_initial : bool, optional
        Whether the result begins with 0, and is one element longer.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        As for `cumsum`, or where `axis` is missing.
    """
    return _cumulative("cumulative_sum", SUM, x, axis, dtype, out, include_initial)


@planned
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None,
    include_initial: bool = False,
) -> Array:  # fmt: skip
    """The products of each element and those before it, as the array API standard has them.

    The parameters and errors are those of `cumulative_sum`; the initial element is 1.
    """
    return _cumulative("cumulative_prod", PRODUCT, x, axis, dtype, out, include_initial)


def accumulate(
    ufunc: np.ufunc, array: Any, axis: int | None = 0, dtype: Any = None, out: Any = None
) -> Array:
    """The method ``accumulate`` of numpy.add, multiply, minimum and maximum."""
    function = f"numpy.{ufunc.__name__}.accumulate"
    if ufunc not in OPERATIONS:
        names = ", ".join(one.__name__ for one in OPERATIONS)
        raise ArgumentTypeError(
            f"{function} is not supported on a device, which has those of {names}; copy the array "
            "with get()"
        )
    x = array_of(function, "array", array)
    require_elements(function, "array", x, NUMBERS)
    if axis is None and x.ndim != 1:
        raise ArgumentValueError(
            f"{function}: argument axis: expected an int for an array of {x.ndim} axes, got None"
        )
    if x.ndim == 0:
        raise ArgumentTypeError(f"{function}: expected an array with an axis, got one of no axes")
    return _scan(function, ufunc, x, 0 if axis is None else axis, dtype, out)


def _cumulative(
    function: str, ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool
) -> Array:
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]  # as NumPy's functions of these names
    x = with_axis(array_of(function, "x", x), 0 if axis is None else axis)
    if axis is None and x.ndim > 1:
        raise ArgumentValueError(
            f"{function}: argument axis: it is required for an array of {x.ndim} axes"
        )
    axis = 0 if axis is None else axis_of(function, axis, x.ndim)
    if not include_initial:
        return _scan(function, ufunc, x, axis, dtype, out)
    shape = tuple(length + (k == axis) for k, length in enumerate(x.shape))
    operation = operation_of(function, ufunc, x, dtype, out)
    to = check_out(function, out, x, shape, operation.dtype)
    if to is None:
        to = empty(shape, operation.dtype, device=x.device_index)
    before = (slice(None),) * axis
    # The scan first: `out` may be memory of `x`.
    _scan(function, ufunc, x, axis, dtype, to[(*before, slice(1, None))])
    to[(*before, slice(0, 1))] = operation.dtype.type(ufunc.identity)
    return to


def _scan(function: str, ufunc: np.ufunc, x: Array, axis: Any, dtype: Any, out: Any) -> Array:
    if axis is None:
        x, axis = packed(x).reshape(-1), 0
    axis = axis_of(function, axis, x.ndim)
    operation = operation_of(function, ufunc, x, dtype, out)
    out = check_out(function, out, x, x.shape, operation.dtype)
    if x.size == 0:
        return empty(x.shape, operation.dtype, device=x.device_index) if out is None else out
    outer, n, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    if inner > 1 and n > 64 and outer * inner < _COLUMNS:
        # There are too few columns for a thread each: scan rows of a transposed copy.
        order = [*(k for k in range(x.ndim) if k != axis), axis]
        rows = operation._replace(x=operation.x.transpose(*order))
        made = empty(rows.x.shape, operation.made, device=x.device_index)
        _scan_rows(rows, made, outer * inner, n)
        back = sorted(range(x.ndim), key=order.__getitem__)
        return stored(out, _typed(made.transpose(*back).copy(), operation))
    made = target_of(out, x, x.shape, operation.made)
    if inner > 1:
        _launch("columns", operation, outer * inner)(
            packed(operation.x), made, outer * inner, n, inner, operation.spec
        )
    else:
        _scan_rows(operation, made, outer, n)
    return stored(out, _typed(made, operation))


def _typed(made: Array, operation: Operation) -> Array:
    return made if made.dtype == operation.dtype else made.astype(operation.dtype)


def _scan_rows(operation: Operation, made: Array, rows: int, n: int) -> None:
    x = packed(operation.x)
    if n <= _SHORT and rows > 1:
        warps = -(-rows // (32 // n)) if n <= 16 else rows
        _launch("rows", operation, warps * 32)(x, made, rows, n, operation.spec)
        return
    size = operation.total_bytes
    items = SCAN_ITEMS_16 if size >= 16 else SCAN_ITEMS_8 if size == 8 else SCAN_ITEMS_4
    tiles = -(-n // (SCAN_TILE_THREADS * items))
    words = None
    if tiles > 1:
        pieces = -(-size // 4)
        count = rows * (tiles + tiles // 32 + tiles // 1024) * pieces
        words = zeros(count, np.uint64, device=x.device_index)
    launch = _kernel("tiles", operation)[rows * tiles, SCAN_TILE_THREADS]
    launch(x, made, words, n, tiles, operation.spec)


def _launch(form: str, operation: Operation, threads: int) -> Any:
    return _kernel(form, operation)[-(-threads // SCAN_THREADS), SCAN_THREADS]


def _kernel(form: str, operation: Operation) -> Any:
    image = f"scan_{operation.kernel.partition('_')[0]}"
    return kernel(image, f"scan_{form}_{operation.kernel}", operation.x.device_index)
