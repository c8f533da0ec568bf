# cupola/arrays/operations.py - which kernels add, multiply and compare elements of a type.
"""The operations of scans and segments: the types that kernels take, and their names."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.key_order import greatest_number, key_order
from cupola.element import native_dtype
from cupola.exceptions import ArgumentTypeError

SUM, PRODUCT, MINIMUM, MAXIMUM = np.add, np.multiply, np.minimum, np.maximum
OPERATIONS = (SUM, PRODUCT, MINIMUM, MAXIMUM)
_NAMES = {SUM: "sum", PRODUCT: "product"}
# The text of a dtype takes NumPy longer than a launch takes cupola.
_TYPES = {np.dtype(code): str(np.dtype(code)) for code in ("?", "i4", *"efdFD")}


class Operation(NamedTuple):
    """An operation on arrays of a type."""

    x: Array  # with a type that a kernel takes
    kernel: str  # the end of its name
    spec: Any  # its last argument
    made: np.dtype  # the type that it writes
    dtype: np.dtype  # the type of the result

    @property
    def total_bytes(self) -> int:
        """Of the type in which elements are combined."""
        return 4 if self.kernel.endswith("float16") else self.made.itemsize


def operation_of(function: str, ufunc: np.ufunc, x: Array, dtype: Any, out: Any) -> Operation:
    """The kernel for an operation, with NumPy's type of the result.

    Raises
    ------
    ArgumentTypeError
        Where there is none.
    """
    wanted = {} if dtype is None else {"signature": (native_dtype(np.dtype(dtype)), None, None)}
    kind = out.dtype if isinstance(out, Array) else None
    try:
        result = ufunc.resolve_dtypes(
            (kind, x.dtype, None), reduction=True, casting="unsafe", **wanted
        )[2]
    except TypeError as error:
        raise ArgumentTypeError(f"{function}: {error}") from None
    if result.kind not in "biufc" or result.itemsize > 16 or result.char in "gG":
        raise ArgumentTypeError(
            f"{function}: elements of {x.dtype} give {result}, for which there is no kernel"
        )
    if ufunc in _NAMES and result.kind != "b":
        return _number(ufunc, x, result)
    # A sum of bool is "or", that is the greatest element. A product is "and", the least element.
    least = ufunc in (MINIMUM, PRODUCT)
    x = x if x.dtype == result else x.astype(result)
    if result.kind == "c":
        return Operation(x, f"extreme_{result}", int(least), result, result)
    spec = key_order(result) + struct.pack("<2Q", greatest_number(result), least)
    return Operation(x, f"extreme_{8 * result.itemsize}", spec, result, result)


def _number(ufunc: np.ufunc, x: Array, result: np.dtype) -> Operation:
    name = _NAMES[ufunc]
    if result.kind in "fc":
        x = x if x.dtype == result else x.astype(result)
        return Operation(x, f"{name}_{_TYPES[result]}", 0, result, result)
    # Integers wrap, so the low bits of 64 are the result of each type.
    made = result if result.itemsize == 8 else np.dtype(np.int64)
    if ufunc is SUM and x.dtype in (np.bool_, np.int32):
        return Operation(x, f"{name}_{_TYPES[x.dtype]}", 0, made, result)
    x = x if x.dtype.itemsize == 8 and x.dtype.kind in "iu" else x.astype(made)
    return Operation(x, f"{name}_int64", 0, made, result)
