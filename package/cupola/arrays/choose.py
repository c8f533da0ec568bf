# cupola/arrays/choose.py - elements of one of two arrays, as a mask says.
"""`where` with three arguments, and ``x[mask] = value``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array, require_device
from cupola.arrays.launching import launch, widest
from cupola.arrays.layouts import as_words, broadcast_to, overlap
from cupola.arrays.rows import array_of
from cupola.creation import empty, full
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

# The words that a thread of the kernel has in flight: as many as these bytes have, but not fewer.
BYTES_OF_A_THREAD, WORDS_OF_A_THREAD = 32, 4
SCALARS = (bool, int, float, complex, np.generic)


def choose(title: str, condition: Array, x: Any, y: Any) -> Array:
    """Elements of x where a condition is true, else of y; see `cupola.where`."""
    device = condition.device_index
    operands = [_operand(title, "x", x, device), _operand(title, "y", y, device)]
    dtype = _common_dtype(title, *operands)
    shapes = [condition.shape, *[np.shape(one) for one in operands]]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join([str(one) for one in shapes])
        raise ArgumentValueError(
            f"{title}: condition, x and y have shapes that do not broadcast: {listed}"
        ) from None
    if condition.dtype != np.bool_:
        condition = condition.astype(np.bool_)
    out: Array = empty(shape, dtype, device=device)
    if out.nbytes:
        first, second = [_converted(title, one, dtype, device) for one in operands]
        _launch(out, condition, first, second)
    return out


def fill_where(array: Array, mask: Array, value: Array) -> None:
    """Set elements to one value where a mask of the first axes' shape is true."""
    if array.nbytes == 0:
        return
    # For example mask[1:][mask[:-1]] = False, where threads read elements that other threads write.
    same = (array.ptr, array.shape, array.strides) == (mask.ptr, mask.shape, mask.strides)
    mask = mask.copy() if overlap(array, mask) and not same else mask
    value = value.copy() if overlap(array, value) else value
    if array.flags.c_contiguous:
        _launch(array, mask, value, None)
        return
    copied = array.copy()
    _launch(copied, mask, value, None)
    array[...] = copied


def _launch(out: Array, condition: Array, x: Array, y: Array | None) -> None:
    """Choose in words; all steps are 0 or 1, so other operands are copied first."""
    group = 1
    if y is None:  # the mask has the first axes of `out`
        group = out.size // condition.size
        condition = condition if condition.flags.c_contiguous else condition.copy()
    else:
        condition = repeated(condition, out.shape)
    x = repeated(x, out.shape)
    others = [x] if y is None else [x, repeated(y, out.shape)]
    width = widest([out.itemsize, out.ptr, *[one.ptr for one in others]])
    period = out.itemsize // width
    n = out.size * period
    second, step = (as_words(others[1]), int(others[1].size != 1)) if y is not None else (None, 0)
    words = max(BYTES_OF_A_THREAD // width, WORDS_OF_A_THREAD)
    launch(
        "index", f"index_choose_{width * 8}", out.device_index, -(-n // words),
        condition, as_words(x), second, as_words(out), n, group * period, period,
        int(condition.size != 1), int(x.size != 1), step,
    )  # fmt: skip


def repeated(array: Array, shape: tuple[int, ...]) -> Array:
    """An array of one element as it is; another array broadcast to the shape, in C order."""
    if array.size == 1:
        return array.reshape(-1)
    if array.shape != shape:
        array = broadcast_to(array, shape)
    return array if array.flags.c_contiguous else array.copy()


def _operand(title: str, name: str, value: Any, device: int) -> Any:
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if not is_device_array(value):
        raise ArgumentTypeError(
            f"{title}: argument {name}: expected an array of a device or a number, got a "
            f"{type(value).__name__}; copy it with cupola.to_device({name})"
        )
    array = array_of(title, name, value)
    require_device(title, name, array, device)
    return array


def _common_dtype(title: str, x: Any, y: Any) -> np.dtype[Any]:
    """NumPy's type of the result; Python's numbers have none of their own."""
    of = [one.dtype if isinstance(one, (Array, np.generic)) else one for one in (x, y)]
    try:
        return np.result_type(*of)
    except TypeError:
        raise ArgumentTypeError(
            f"{title}: x and y have types without a common type: {of[0]} and {of[1]}"
        ) from None


def _converted(title: str, operand: Any, dtype: np.dtype[Any], device: int) -> Array:
    if not isinstance(operand, Array):
        try:
            # NumPy checks the range of Python's numbers alone.
            known = operand.astype(dtype) if isinstance(operand, np.generic) else operand
            made: Array = full((), np.array(known, dtype)[()], dtype, device=device)
        except OverflowError:
            raise ArgumentValueError(f"{title}: {operand} is out of the range of {dtype}") from None
        return made
    return operand if operand.dtype == dtype else operand.astype(dtype)
