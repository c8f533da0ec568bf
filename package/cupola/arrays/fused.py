# cupola/arrays/fused.py - functions of several operations whose work is one kernel.
"""Functions of several elementwise operations, in one pass over the elements.

Each function returns None where its kernel does not take the operands. The caller then does the
operations one after the other, with the same result.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.choose import repeated
from cupola.arrays.launching import launch
from cupola.arrays.layouts import overlap
from cupola.creation import empty

BYTES_OF_A_THREAD = 16  # of each operand
NUMBERS = (int, float)  # Python's numbers, which have no type of their own


def clip(x: Array, low: Any, high: Any, out: Any) -> Array | None:
    """The smaller one of `high` and the greater one of `x` and `low`."""
    dtype = x.dtype
    limits: list[tuple[Array | None, int, int]] = []
    for limit in (low, high):
        if isinstance(limit, Array):
            if not _fits(limit, x):
                return None
            limits.append((limit, int(limit.size != 1), 0))
        else:
            bits = _bits(limit, dtype)
            if bits is None:
                return None
            limits.append((None, 0, bits))
    if dtype.kind not in "iuf" or dtype.itemsize > 8 or not _is_plain(x):
        return None
    made = out
    if out is None:
        made = empty(x.shape, dtype, device=x.device_index)
    elif not _takes(out, [x, *[one[0] for one in limits if one[0] is not None]]):
        return None
    if x.size:
        (first, first_step, first_bits), (second, second_step, second_bits) = limits
        scalars = struct.pack("<2Q", first_bits, second_bits)
        steps = first_step, second_step
        _launch("clip", dtype, made, x, first, second, made, x.size, *steps, scalars)
    return made


def close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool) -> Array | None:
    """Whether ``abs(x - y) <= atol + rtol * abs(y)``, with y of the type of the difference."""
    arrays = [one for one in (x, y) if isinstance(one, Array)]
    numbers = [one for one in (x, y) if not isinstance(one, Array)] + [rtol, atol]
    if not arrays or any(type(one) not in NUMBERS for one in numbers):
        return None
    dtype = np.result_type(*[one.dtype for one in arrays], 1.0)
    if dtype.kind != "f" or dtype.itemsize > 8 or len({one.device_index for one in arrays}) > 1:
        return None
    if isinstance(y, Array) and y.dtype != dtype:
        return None
    try:
        shape = np.broadcast_shapes(*[one.shape for one in arrays])
    except ValueError:
        return None
    if not isinstance(y, Array):  # the bound is a Python number, which is rounded once
        atol, rtol = atol + rtol * abs(y), 0.0
    scalars = [0.0 if isinstance(one, Array) else one for one in (x, y)]
    try:
        values = [_rounded(one, dtype) for one in (*scalars, rtol, atol)]
    except OverflowError:
        return None
    made: Array = empty(shape, np.bool_, device=arrays[0].device_index)
    if made.size:
        first, second = [
            _spread(one, dtype, shape) if isinstance(one, Array) else None for one in (x, y)
        ]
        steps = [int(one is not None and one.size != 1) for one in (first, second)]
        _launch(
            "close", dtype, made, first, second, made.view(np.uint8), made.size, *steps,
            int(bool(equal_nan)), *values,
        )  # fmt: skip
    return made


def _launch(name: str, dtype: np.dtype[Any], out: Array, *arguments: Any) -> None:
    """Queue the kernel that computes `out` from elements of the type."""
    launch(
        "fused", f"{name}_{dtype.kind}{8 * dtype.itemsize}", out.device_index,
        -(-out.size * dtype.itemsize // BYTES_OF_A_THREAD), *arguments,
    )  # fmt: skip


def _is_plain(array: Array) -> bool:
    """Whether a kernel can read the elements as they are: in C order, aligned."""
    return bool(array.flags.c_contiguous) and array.ptr % array.itemsize == 0


def _fits(operand: Array, x: Array) -> bool:
    """Whether an operand has an element for each of x, or one for all."""
    same = operand.shape == x.shape or (operand.size == 1 and operand.ndim <= x.ndim)
    of_x = (operand.dtype, operand.device_index) == (x.dtype, x.device_index)
    return same and of_x and _is_plain(operand)


def _takes(out: Any, operands: list[Array]) -> bool:
    """Whether a kernel can write the result there while it reads the operands."""
    x = operands[0]
    return (
        isinstance(out, Array)
        and (out.dtype, out.shape, out.device_index) == (x.dtype, x.shape, x.device_index)
        and bool(out.flags.writeable)
        and _is_plain(out)
        and all(_is_same(out, one) or not overlap(out, one) for one in operands)
    )


def _is_same(one: Array, other: Array) -> bool:
    return (one.ptr, one.shape) == (other.ptr, other.shape)


def _spread(array: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The elements as the kernel reads them, of its type: one of them, or all of the result's."""
    array = array if array.dtype == dtype else array.astype(dtype)
    array = repeated(array, shape)
    return array if array.ptr % array.itemsize == 0 else array.copy()


def _rounded(number: float, dtype: np.dtype[Any]) -> float:
    with np.errstate(over="ignore"):
        return float(dtype.type(number))


def _bits(number: Any, dtype: np.dtype[Any]) -> int | None:
    """A number in the type that the kernel computes in; None where its type would be another."""
    if dtype.kind == "f" and (type(number) in NUMBERS or type(number) is dtype.type):
        try:
            known = _rounded(number, dtype)
        except OverflowError:
            return None
        value = np.float64(known) if dtype.itemsize == 8 else np.float32(known)
        return int(value.view(f"u{value.itemsize}"))
    if dtype.kind in "iu" and (type(number) is int or type(number) is dtype.type):
        limits = np.iinfo(dtype)
        if limits.min <= number <= limits.max:
            return int(number) & (1 << 64) - 1
    return None
