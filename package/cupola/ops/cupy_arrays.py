# cupola/ops/cupy_arrays.py - calls with CuPy's arrays.
"""CuPy's arrays in and out, from CuPy's pool, on CuPy's current stream."""

from __future__ import annotations

import math
import sys
from typing import Any

import cupy

from cupola.array_access import Allocation, CupyAccess, register
from cupola.exceptions import ArgumentTypeError
from cupola.ops.array_call import View, aligned_part, call_arrays
from cupola.ops.element_dtypes import dtype_of
from cupola.ops.operation import Call, Operation

title = "a cupy.ndarray"
register(cupy.ndarray, CupyAccess(cupy.ndarray, cupy.cuda.runtime.getDevice))
_CUDA = 2  # DLPack's device type


def is_array(value: Any) -> bool:
    """Whether it is CuPy's."""
    return isinstance(value, cupy.ndarray)


def view(value: Any) -> View:
    """Address, shape and element type of an array."""
    contiguous = value.flags.c_contiguous
    strides = None
    if not contiguous:
        strides = tuple(step // value.itemsize for step in value.strides)
    return View(
        value.shape, value.dtype.name, contiguous, value.data.ptr, value.device.id, strides, True
    )


def allocate(shape: tuple[int, ...], element: str, align: int, device: int) -> Any:
    """A new array; CuPy's pool aligns memory to 512 bytes."""
    with cupy.cuda.Device(device):
        dtype = dtype_of(element)
        if align <= 512:
            return cupy.empty(shape, dtype)
        size = math.prod(shape) * dtype.itemsize
        whole = cupy.empty(size + align, cupy.uint8)
        return aligned_part(whole, whole.data.ptr, size, dtype, shape, align)


def allocation(
    shape: tuple[int, ...], element: str, align: int, device: int, like: int
) -> Allocation | None:
    """How `allocate` makes such arrays."""
    return Allocation(cupy.ndarray, (shape, dtype_of(element)), {}) if align <= 512 else None


def argument(value: Any, view: View) -> tuple[Any, ...]:
    """The array for `NativeOperation.launch`."""
    return view.tensor(_CUDA)


def stream(call: Call, device: int) -> dict[str, Any]:
    """CuPy's current stream: its allocator frees memory in that order."""
    if call.stream is not None:
        raise ArgumentTypeError(
            "with CuPy's arrays an operation uses CuPy's current stream: write `with stream:` "
            "instead of stream="
        )
    with cupy.cuda.Device(device):
        return {"handle": cupy.cuda.get_current_stream().ptr}


def call(operation: Operation, call: Call) -> Any:
    """Call an operation with CuPy's arrays."""
    return call_arrays(operation, call, sys.modules[__name__])
