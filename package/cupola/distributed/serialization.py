# cupola/distributed/serialization.py - device arrays as frames of Dask's messages.
"""Serializers of arrays: "dask" by frames in host memory, "cuda" by frames in device memory.

Both keep shape, dtype and the order C or F, and pack strided views. The receiver's array is on the
current device of the thread that reads the message.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
from distributed.protocol.serialize import dask_deserialize, dask_serialize

import cupola
from cupola.array import Array, read_now
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, OutOfMemoryError
from cupola.memory import is_exportable


def _header(array: Any) -> dict[str, Any]:
    """Shape, dtype and order. The pickle of a dtype also keeps fields and extension types."""
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return {
        "shape": tuple(array.shape),
        "dtype": pickle.dumps(array.dtype),
        "order": "F" if fortran else "C",
    }


def _bytes_of(array: Any, order: str) -> Any:
    """A contiguous array of NumPy or cupola as a view of bytes along one axis."""
    return (array.transpose() if order == "F" else array).reshape(-1).view(np.dtype(np.uint8))


def _empty(header: dict[str, Any]) -> Array:
    return cupola.empty(
        tuple(header["shape"]), pickle.loads(header["dtype"]), order=header["order"]
    )


def _check_frame(nbytes: int, header: dict[str, Any]) -> None:
    dtype, shape = pickle.loads(header["dtype"]), tuple(header["shape"])
    expected = math.prod(shape) * dtype.itemsize
    if nbytes != expected:
        raise ArgumentValueError(
            f"a message has a frame of {nbytes} bytes for a cupola.Array of shape {shape} and "
            f"{dtype}, which has {expected}: the connection lost a part of it; compute the key "
            "again"
        )


def host_frames(array: Array) -> tuple[dict[str, Any], list[memoryview]]:
    """The elements in host memory. On a GPU the copy goes through page-locked memory."""
    header = _header(array)
    if not array.nbytes:
        return header, [memoryview(b"")]
    return header, [memoryview(_bytes_of(read_now(array, "sending an array"), header["order"]))]


def from_host_frames(header: dict[str, Any], frames: Any) -> Array:
    """An array on the current device from a frame in host memory."""
    (frame,) = frames
    _check_frame(memoryview(frame).nbytes, header)
    array = _empty(header)
    if array.nbytes:
        _bytes_of(array, header["order"]).set(np.frombuffer(frame, np.uint8))
    return array


def _exportable(frame: Array) -> Array:
    """The bytes in memory that another process can open; where it is short, as they are."""
    if is_exportable(frame.address):
        return frame
    try:
        memory = cupola.alloc(frame.nbytes, device=frame.device_index, exportable=True)
    except OutOfMemoryError:  # UCX then sends through the host
        return frame
    copy: Array = Array.from_address(
        memory.address, frame.nbytes, np.uint8, owner=memory, device=frame.device_index
    )
    copy.set(frame)
    return copy


def device_frames(array: Array) -> tuple[dict[str, Any], list[Array]]:
    """The elements in device memory. Waits for the current stream, since UCX knows no streams."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = array.copy()
    header = _header(array)
    if array.nbytes:
        frame = _exportable(_bytes_of(array, header["order"]))
    else:
        frame = cupola.empty(0, np.uint8, device=array.device_index)
    cupola.Stream.current(array.device_index).synchronize()
    return header, [frame]


def from_device_frames(header: dict[str, Any], frames: Any) -> Array:
    """An array over the memory of a frame, without a copy."""
    (frame,) = frames
    if not isinstance(frame, Array) and not hasattr(frame, "__cuda_array_interface__"):
        raise ArgumentTypeError(
            f"a frame of device memory has __cuda_array_interface__, got {type(frame).__name__}; "
            'use the serializers "dask" on connections that deliver host memory'
        )
    found = cupola.asarray(frame)
    _check_frame(found.nbytes, header)
    if not found.nbytes:
        return _empty(header)
    shape, fortran = tuple(header["shape"]), header["order"] == "F"
    elements = found.reshape(-1).view(np.uint8).view(pickle.loads(header["dtype"]))
    array = elements.reshape(shape[::-1] if fortran else shape)
    return array.transpose() if fortran else array


def register() -> None:
    """Called by the entry point, at the first message with an object of cupola."""
    dask_serialize.register(Array, host_frames)
    dask_deserialize.register(Array, from_host_frames)
    cuda_serialize.register(Array, device_frames)
    cuda_deserialize.register(Array, from_device_frames)
