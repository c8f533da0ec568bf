# cupola/ops/cupola_arrays.py - calls with cupola's arrays, and with other device memory.
"""`cupola.Array` in, `cupola.Array` out.

Memory of libraries that have no module here is taken by ``__cuda_array_interface__`` or DLPack.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.array_access import Allocation, CupolaAccess, register
from cupola.creation import asarray, empty
from cupola.exceptions import ArgumentTypeError
from cupola.ops.array_call import View, aligned_part, call_arrays
from cupola.ops.element_dtypes import dtype_of
from cupola.ops.operation import Call, Operation

title = "a cupola.Array"
_DEVICE_MEMORY = (2, 3, 13)  # DLPack's device types: CUDA, pinned host, managed
register(Array, CupolaAccess())


def is_array(value: Any) -> bool:
    """Whether it is device memory of cupola or of another library."""
    return isinstance(value, Array) or (
        not isinstance(value, (np.ndarray, np.generic))
        and (hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"))
    )


def view(value: Any) -> View:
    """Address, shape and element type of an array."""
    flags = value.flags
    strides = None
    if not flags.c_contiguous:
        strides = tuple(step // value.itemsize for step in value.strides)
    name = value.dtype.name if value.dtype.isnative else str(value.dtype)
    return View(
        value.shape, name, flags.c_contiguous, value.ptr, value.device_index, strides,
        flags.writeable,
    )  # fmt: skip


def allocate(shape: tuple[int, ...], element: str, align: int, device: int) -> Array:
    """A new array; the driver aligns memory to 256 bytes or more."""
    dtype = dtype_of(element)
    if align <= 256:
        return empty(shape, dtype, device=device)
    size = math.prod(shape) * dtype.itemsize
    whole = empty(size + align, np.uint8, device=device)
    part: Array = aligned_part(whole, whole.ptr, size, dtype, shape, align)
    return part


def allocation(
    shape: tuple[int, ...], element: str, align: int, device: int, like: int
) -> Allocation | None:
    """How `allocate` makes such arrays."""
    return Allocation(None, (shape, dtype_of(element)), {}) if align <= 256 else None


def argument(value: Array, view: View) -> Array:
    """`NativeOperation.launch` takes the array itself, and notes the stream that uses it."""
    return value


def stream(call: Call, device: int) -> dict[str, Any]:
    """The stream of the call, or the current stream."""
    if call.stream is None:
        return {}
    from cupola.stream import Stream

    if isinstance(call.stream, Stream):
        return {"stream": call.stream}
    raise ArgumentTypeError(f"a stream is a cupola.Stream, got {type(call.stream).__name__}")


def call(operation: Operation, call: Call) -> Any:
    """Call an operation with arrays in a device's memory."""
    given = {name: _taken(operation, name, value) for name, value in call.inputs.items()}
    if call.out is not None:
        outputs = zip(operation.declaration.outputs, call.out, strict=True)
        call = call._replace(
            out=tuple(_taken(operation, one.name, value) for one, value in outputs)
        )
    return call_arrays(operation, call._replace(inputs=given), sys.modules[__name__])


def _taken(operation: Operation, name: str, value: Any) -> Any:
    """An array of another library as a `cupola.Array` of its memory.

    An input in host memory is copied to the device. Where the kernel writes it, the change would be
    lost.
    """
    if isinstance(value, Array) or not is_array(value):
        return value
    tensor = operation.declaration.tensor(name)
    assert tensor is not None
    if tensor.written and not _is_device_memory(value):
        raise ArgumentTypeError(
            f"{operation.declaration.name}: {tensor.title}: the kernel writes it, and "
            f"{type(value).__module__}.{type(value).__qualname__} is in host memory: pass a copy, "
            "cupola.asarray(x), and read that"
        )
    return asarray(value)


def _is_device_memory(value: Any) -> bool:
    """Whether a kernel can write an array of another library in place."""
    if hasattr(value, "__dlpack_device__"):
        return value.__dlpack_device__()[0] in _DEVICE_MEMORY
    return hasattr(value, "__cuda_array_interface__")
