# cupola/distributed/host_copy.py - objects with device arrays, copied to the host and back.
"""Copies of values of any type, in which device arrays are replaced by their elements."""

from __future__ import annotations

import io
from pickle import PickleBuffer, loads
from typing import Any

import cloudpickle
import numpy as np

import cupola
from cupola.array import Array, read_now


def device_bytes(value: Any) -> int:
    """Bytes of device memory that a value keeps alive: arrays, also in lists, tuples and dicts."""
    if isinstance(value, Array):
        return value.memory_nbytes
    if type(value) is dict:
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return 0
    return sum(map(device_bytes, value))


def _restored(host: np.ndarray[Any, Any], fortran: bool) -> Array:
    array = cupola.empty(host.shape, host.dtype, order="F" if fortran else "C")
    array.set(host)
    return array


class _HostPickler(cloudpickle.Pickler):
    """Pickles device arrays as host arrays, which are restored on the current device."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Array):
            host = read_now(obj, "pickling an array")
            return _restored, (host, host.flags.fnc)
        return super().reducer_override(obj)


class HostCopy:
    """A value as a pickle, with the elements of its arrays beside it.

    Parameters
    ----------
    data : bytes
        The pickle.
    parts : list of numpy.ndarray
        Its buffers, as bytes.
    """

    __slots__ = ("data", "parts")

    def __init__(self, data: bytes, parts: list[np.ndarray[Any, Any]]) -> None:
        self.data, self.parts = data, parts

    @classmethod
    def of(cls, value: Any) -> HostCopy:
        """A copy of a value. Waits for the work that makes its arrays."""
        file, buffers = io.BytesIO(), list[PickleBuffer]()
        _HostPickler(file, protocol=5, buffer_callback=buffers.append).dump(value)
        return cls(file.getvalue(), [np.frombuffer(one.raw(), np.uint8) for one in buffers])

    def restore(self) -> Any:
        """The value, with its arrays on the current device."""
        return loads(self.data, buffers=self.parts)

    @property
    def nbytes(self) -> int:
        return len(self.data) + sum(part.nbytes for part in self.parts)

    def __sizeof__(self) -> int:
        return self.nbytes

    def __reduce__(self) -> Any:
        return HostCopy, (self.data, self.parts)
