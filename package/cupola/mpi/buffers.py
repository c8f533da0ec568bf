# cupola/mpi/buffers.py - checks the arrays of a call and makes them contiguous.
"""Arguments of calls: device arrays and host arrays as contiguous bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from cupola.array import Array
from cupola.creation import asarray
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.stream import stream_of

if TYPE_CHECKING:
    from cupola.stream import _StreamProtocol


class Call:
    """The name and rank of a call, for its errors.

    Attributes
    ----------
    name : str
        Of the communicator's method.
    rank : int
    device : int
        The device that its arrays are on.
    stream : Stream
        Orders the work on the call's device arrays.
    """

    def __init__(self, name: str, rank: int, device: int, stream: _StreamProtocol | None) -> None:
        self.name, self.rank, self.device = name, rank, device
        self.title = f"Communicator.{name} on rank {rank}"
        self.stream = stream_of(stream, device, self.title)

    def text(self, argument: str, message: str) -> str:
        return f"{self.title}: {argument}: {message}"

    def value_error(self, argument: str, message: str) -> ArgumentValueError:
        return ArgumentValueError(self.text(argument, message))

    def type_error(self, argument: str, message: str) -> ArgumentTypeError:
        return ArgumentTypeError(self.text(argument, message))


class Buffer:
    """An array argument as contiguous bytes, in the C order of its elements.

    Attributes
    ----------
    argument : str
        The argument's name.
    dtype : numpy.dtype
    size, nbytes : int
    address : int
        Of the first byte.
    on_device : bool
    stream : Stream
        For copies of device memory.
    contents : Array or numpy.ndarray
        The bytes, one-dimensional.
    """

    def __init__(self, call: Call, argument: str, value: Any, writes: bool) -> None:
        self.argument = argument
        self.stream = call.stream
        self.target: Array | None = None
        if isinstance(value, np.ndarray):
            self.on_device = False
            self._take_host(call, value, writes)
        elif isinstance(value, Array) or hasattr(value, "__cuda_array_interface__"):
            self.on_device = True
            self._take_device(call, value, writes)
        else:
            raise call.type_error(
                argument,
                "expected a cupola.Array, another device array or a NumPy array, got "
                f"{type(value).__name__}; for mpi4py's other buffers use Communicator.comm",
            )

    def _take_host(self, call: Call, array: np.ndarray, writes: bool) -> None:
        if array.dtype.hasobject:
            raise call.type_error(self.argument, "an array of Python objects has no bytes to send")
        if not array.flags.c_contiguous:
            raise call.value_error(
                self.argument,
                f"the NumPy array is not C-contiguous (shape {array.shape}, strides "
                f"{array.strides}); pass numpy.ascontiguousarray(array)",
            )
        if writes and not array.flags.writeable:
            raise call.value_error(self.argument, "the NumPy array is read-only")
        self._describe(array)
        self.address = array.ctypes.data
        self.contents = array.reshape(-1).view(np.uint8)

    def _take_device(self, call: Call, value: Any, writes: bool) -> None:
        if self.stream.capturing:
            raise call.value_error(
                self.argument,
                "the stream is being captured, and MPI can't be part of a graph; call it outside "
                "of the capture",
            )
        if isinstance(value, Array):
            array = value
        else:
            with self.stream:
                array = asarray(value)
        if array.device_index != call.device:
            raise call.value_error(
                self.argument,
                f"the array is on device {array.device_index}, and the communicator is for device "
                f"{call.device}; make a Communicator(comm, device={array.device_index})",
            )
        if writes and not array.flags.writeable:
            raise call.value_error(self.argument, "the array is read-only")
        self._describe(array)
        if not array.flags.c_contiguous:
            self.target = array if writes else None
            array = array.copy(stream=self.stream)
        self.address = array.address
        # An array without elements has no memory to view.
        self.contents = array.reshape(-1).view(np.uint8) if array.nbytes else array

    def _describe(self, array: Any) -> None:
        self.dtype, self.size, self.nbytes = array.dtype, array.size, array.nbytes

    def part(self, start: int, stop: int) -> MPI.memory:
        """Bytes from `start` to `stop` as MPI gets them."""
        return memory_of(self.address + start, stop - start)

    def unpack(self) -> None:
        """Queue the copy to the elements of a strided view, after the bytes were received."""
        if self.target is not None and self.target.nbytes:
            packed = self.contents.view(self.dtype).reshape(self.target.shape)
            self.target.set(packed, stream=self.stream)


def memory_of(address: int, nbytes: int) -> MPI.memory:
    """Memory at an address, which MPI alone reads: it may be a device's."""
    return MPI.memory.fromaddress(address if nbytes else 0, nbytes)
