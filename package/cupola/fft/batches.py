# cupola/fft/batches.py - batches of transforms, from arrays of any layout.
"""Transforms along axes without a factor: one plan of cuFFT for up to three axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.rows import packed
from cupola.creation import empty, zeros
from cupola.fft.cufft import FORWARD, Layout, library

MOST_AXES = 3  # axes of a plan at most


def resized(x: Array, axis: int, n: int) -> Array:
    """The array with `n` elements along an axis: the first ones, or with zeros behind them."""
    length = x.shape[axis]
    if n == length:
        return x
    key = (slice(None),) * axis + (slice(min(n, length)),)
    if n < length:
        return x[key]
    made: Array = zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype, device=x.device_index)
    made[key] = x
    return made


def of_complex(title: str, x: Array, axes: Sequence[int], direction: int) -> Array:
    """Transforms of complex numbers along different axes, as a new array."""
    ordered = sorted(axes)
    while ordered:
        x = _batch(title, x, ordered[-MOST_AXES:], x.dtype, 0, direction)
        del ordered[-MOST_AXES:]
    return x


def to_complex(title: str, x: Array, axes: Sequence[int]) -> Array:
    """Forward transforms of real numbers along different axes; the last one is halved."""
    kind = np.result_type(x.dtype, np.complex64)
    others, last = sorted(axes[:-1]), axes[-1]
    together = (*others, last) == tuple(range(x.ndim - len(axes), x.ndim))
    if together and len(axes) <= MOST_AXES:
        return _batch(title, x, [*others, last], kind, x.shape[last] // 2 + 1, FORWARD)
    halved = _batch(title, x, [last], kind, x.shape[last] // 2 + 1, FORWARD)
    return of_complex(title, halved, others, FORWARD)


def to_real(title: str, x: Array, axis: int, n: int) -> Array:
    """The inverse of `to_complex` along one axis, for ``n // 2 + 1`` complex numbers of it."""
    x = x.copy()  # cuFFT overwrites it
    # Imaginary parts that real numbers cannot have here: cuFFT would use them, NumPy ignores them.
    whole = (slice(None),) * axis
    x[(*whole, 0)].imag[...] = 0
    if n % 2 == 0:
        x[(*whole, n // 2)].imag[...] = 0
    kind = np.dtype(x.dtype.char.lower())
    return _batch(title, x, [axis], kind, n, -FORWARD)


def _batch(
    title: str, x: Array, axes: list[int], dtype: np.dtype[Any], last: int, direction: int
) -> Array:
    """One plan's transforms. `last` is the length of the last axis in a result of another kind."""
    found = library(title, x.device_index)
    last = last or x.shape[axes[-1]]
    shape = (*x.shape[: axes[-1]], last, *x.shape[axes[-1] + 1 :])
    if not math.prod(shape):
        return empty(shape, dtype, device=x.device_index)
    real = shape[axes[-1]] if dtype.kind == "f" else x.shape[axes[-1]]
    lengths = (*(x.shape[axis] for axis in axes[:-1]), real)
    if axes == [0] and x.ndim > 1:  # neighbours along the axis are a row apart
        made: Array = empty(shape, dtype, device=x.device_index)
        columns = math.prod(shape[1:])
        layout = Layout(lengths, columns, 1, 1, columns)
        found.transform(_aligned(x), made, layout, direction)
        return made
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    moved = order != list(range(x.ndim))
    rows = x.transpose(*order).copy() if moved else _aligned(x)
    out_shape = tuple(shape[axis] for axis in order)
    same = moved and dtype == rows.dtype  # the copy is overwritten
    out = rows if same else empty(out_shape, dtype, device=x.device_index)
    count = len(axes)
    layout = Layout(
        lengths, 1, math.prod(rows.shape[-count:]), math.prod(out_shape[-count:]),
        math.prod(out_shape[:-count]),
    )  # fmt: skip
    found.transform(rows, out, layout, direction)
    if not moved:
        return out
    return out.transpose(*(int(axis) for axis in np.argsort(order))).copy()


def _aligned(x: Array) -> Array:
    """Contiguous, and where two numbers are read as a complex one, aligned for it."""
    x = packed(x)
    size = x.itemsize if x.dtype.kind == "c" else 2 * x.itemsize
    return x.copy() if x.ptr % size else x
