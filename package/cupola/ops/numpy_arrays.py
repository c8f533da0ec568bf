# cupola/ops/numpy_arrays.py - calls with NumPy's arrays.
"""NumPy's arrays in and out: in place on the CPU device, by copies on a GPU."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cupola.device import Device, is_cpu
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.native_operation import host_device
from cupola.ops import cupola_arrays
from cupola.ops.array_call import View, aligned_part, call_arrays, other_byte_order, other_kind
from cupola.ops.element_dtypes import dtype_of
from cupola.ops.operation import Call, Operation

title = "a numpy.ndarray"
_CPU = 1  # DLPack's device type


def is_array(value: Any) -> bool:
    """Whether it is NumPy's."""
    return isinstance(value, np.ndarray)


def view(value: Any) -> View:
    """Address, shape and element type of an array."""
    contiguous = value.flags.c_contiguous
    strides = None
    if not contiguous:
        steps = value.strides
        if any(step % value.itemsize for step in steps):
            raise ArgumentValueError(
                f"strides of {steps} bytes are not multiples of the element's {value.itemsize} "
                "bytes: pass a copy"
            )
        strides = tuple(step // value.itemsize for step in steps)
    return View(
        value.shape, value.dtype.name, contiguous, value.ctypes.data, host_device(), strides,
        value.flags.writeable, value.dtype.isnative,
    )  # fmt: skip


def allocate(shape: tuple[int, ...], element: str, align: int, device: int) -> Any:
    """A new array at an aligned address."""
    dtype = dtype_of(element)
    made = np.empty(shape, dtype)
    if made.size == 0 or made.ctypes.data % align == 0:
        return made
    whole = np.empty(made.nbytes + align, np.uint8)
    return aligned_part(whole, whole.ctypes.data, made.nbytes, dtype, shape, align)


def argument(value: Any, view: View) -> tuple[Any, ...]:
    """The array for `NativeOperation.launch`."""
    return view.tensor(_CPU)


def stream(call: Call, device: int) -> dict[str, Any]:
    """The CPU device's current stream; the call returns when the work is done."""
    if call.stream is not None:
        raise ArgumentTypeError("with NumPy's arrays a call returns when it is done: no stream=")
    return {}


def call(operation: Operation, call: Call) -> Any:
    """Call an operation with NumPy's arrays."""
    if call.device is None:
        return call_arrays(operation, call, sys.modules[__name__])
    device = Device(call.device)
    if not is_cpu(device.index) or call.stream is not None:
        return _through_device(operation, call, device.index)
    with device:
        return call_arrays(operation, call, sys.modules[__name__])


def _through_device(operation: Operation, call: Call, index: int) -> Any:
    """Copy the arguments to a device, and the results and the changed inputs from it."""
    from cupola.creation import to_device
    from cupola.stream import refuse_captured

    name = operation.declaration.name
    refuse_captured(
        index, name, "its arrays are on the host; pass device arrays, as of cupola.to_device(array)"
    )
    for each in (*call.inputs.items(), *(("out", one) for one in call.out or ())):
        if not is_array(each[1]):
            raise other_kind(f"{name}: argument {each[0]}", title, each[1])
    there = {key: to_device(value, device=index) for key, value in call.inputs.items()}
    for one in operation.declaration.inputs:
        value = call.inputs.get(one.name)
        if one.mutated and value is not None and not value.flags.writeable:
            raise ArgumentValueError(
                f"{name}: argument {one.name}: the kernel writes it, and the array is read-only"
            )
        if one.mutated and value is not None and not value.dtype.isnative:
            raise other_byte_order(f"{name}: argument {one.name}")
    for one, value in zip(operation.declaration.outputs, call.out or (), strict=False):
        if not value.dtype.isnative:
            raise other_byte_order(f"{name}: output {one.name}")
    found = cupola_arrays.call(operation, call._replace(inputs=there, out=None, device=None))
    for one in operation.declaration.inputs:
        if one.mutated and one.name in there:
            there[one.name].get(out=call.inputs[one.name])
    several = found if isinstance(found, tuple) else () if found is None else (found,)
    if call.out is None:
        results = tuple(one.get() for one in several)
    else:
        results = tuple(one.get(out=out) for one, out in zip(several, call.out, strict=True))
    return None if found is None else results if isinstance(found, tuple) else results[0]
