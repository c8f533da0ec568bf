# cupola/pycuda/_host_memory.py - page-locked, aligned, registered and managed host arrays.
"""Host arrays whose ``base`` owns their memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import cupola
from cupola.pycuda import _calls
from cupola.pycuda._constants import host_alloc_flags, mem_attach_flags
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import LogicError, translated
from cupola.pycuda._memory import host_memory
from cupola.pycuda._streams import handle_of


class HostPointer:
    """Host memory at an address; NumPy's arrays over it refer to this object."""

    def __init__(self, owner: Any, address: int, nbytes: int) -> None:
        self._owner, self._address, self._nbytes = owner, address, nbytes

    def get_device_pointer(self):
        """The address at which kernels reach the memory."""
        return _calls.value(
            ctypes.c_uint64, "cuMemHostGetDevicePointer_v2", ctypes.c_void_p(self._address), 0
        )

    def free(self):
        """Free the memory now; arrays over it must not be used any longer."""
        if self._owner is None:
            raise LogicError("this memory was freed already")
        self._owner = None


class PagelockedHostAllocation(HostPointer):
    """Page-locked memory."""

    def get_flags(self):
        """The memory's `host_alloc_flags`."""
        return _calls.value(ctypes.c_uint, "cuMemHostGetFlags", ctypes.c_void_p(self._address))


HostAllocation = PagelockedHostAllocation


class AlignedHostAllocation(HostPointer):
    """Memory whose address is a multiple of a number."""


class RegisteredHostMemory(HostPointer):
    """A page-lock on memory of another owner, which is `base`."""

    @property
    def base(self):
        """The array whose memory is page-locked."""
        return self._base

    def unregister(self):
        """End the page-lock."""
        self.free()


class ManagedAllocation(HostPointer):
    """Managed memory, which host and devices use at one address."""

    def get_device_pointer(self):
        """The address."""
        return self._address

    def __int__(self):
        return self._address

    __index__ = __int__

    def attach(self, mem_flags, stream=None):
        """Say which streams use the memory, by `mem_attach_flags`."""
        _calls.call(
            "cuStreamAttachMemAsync", handle_of(stream), ctypes.c_uint64(self._address),
            ctypes.c_size_t(0), int(mem_flags),
        )  # fmt: skip


def bytes_of(shape: Any, dtype: Any) -> int:
    """The bytes of an array."""
    lengths = shape if np.iterable(shape) else (shape,)
    return int(np.prod(lengths, dtype=np.int64)) * np.dtype(dtype).itemsize


def array_over(owner: Any, address: int, shape: Any, dtype: Any, order: str) -> Any:
    """An array over memory at an address, whose `base` becomes the owner."""
    kind = np.dtype(dtype)
    lengths = tuple(map(int, shape)) if np.iterable(shape) else (int(shape),)
    step, strides = kind.itemsize, []
    for length in lengths if order == "F" else lengths[::-1]:
        strides.append(step)
        step *= length
    owner.__array_interface__ = {
        "version": 3,
        "shape": lengths,
        "strides": tuple(strides if order == "F" else strides[::-1]),
        "typestr": kind.str,
        "descr": kind.descr,
        "data": (address, False),
    }
    return np.asarray(owner)


def _over(pointer: HostPointer, shape: Any, dtype: Any, order: str) -> Any:
    return array_over(pointer, pointer._address, shape, dtype, order)


def pagelocked_empty(shape, dtype, order="C", mem_flags=0):
    """A page-locked host array."""
    size = max(bytes_of(shape, dtype), 1)
    with translated():
        owner = cupola.empty_pinned(
            size,
            np.uint8,
            device=current()._owner._device,
            write_combined=bool(mem_flags & host_alloc_flags.WRITECOMBINED),
        )
    return _over(
        PagelockedHostAllocation(owner, *host_memory(owner, "pagelocked_empty")),
        shape,
        dtype,
        order,
    )


def aligned_empty(shape, dtype, order="C", alignment=4096):
    """A host array whose address is a multiple of `alignment`."""
    size = bytes_of(shape, dtype)
    owner = np.empty(size + alignment, np.uint8)
    address = host_memory(owner, "aligned_empty")[0]
    address += -address % alignment
    return _over(AlignedHostAllocation(owner, address, max(size, 1)), shape, dtype, order)


def managed_empty(shape, dtype, order="C", mem_flags=mem_attach_flags.GLOBAL):
    """A host array in managed memory, which kernels take as an argument."""
    size = max(bytes_of(shape, dtype), 1)
    with translated():
        owner = cupola.managed(size, np.uint8, device=current()._owner._device)
    return _over(ManagedAllocation(owner, owner.address, size), shape, dtype, order)


def register_host_memory(ary, flags=0):
    """An array over the same memory, which is page-locked while the array is alive."""
    address, size = host_memory(ary, "register_host_memory: ary")
    with translated():
        owner = cupola.register_host(ary, device=current()._owner._device)
    pointer = RegisteredHostMemory(owner, address, size)
    pointer._base = ary
    return _over(pointer, ary.shape, ary.dtype, "C" if ary.flags.c_contiguous else "F")


def _zeros(empty: Any, name: str) -> Any:
    def zeros(shape, dtype, order="C", *args, **kwargs):
        made = empty(shape, dtype, order, *args, **kwargs)
        made.fill(np.zeros((), made.dtype)[()])
        return made

    zeros.__doc__ = f"`{name}_empty`, filled with zeros."
    return zeros


def _like(make: Any, name: str) -> Any:
    def like(array, *args, **kwargs):
        order = "C" if array.flags.c_contiguous or not array.flags.f_contiguous else "F"
        return make(array.shape, array.dtype, order, *args, **kwargs)

    like.__doc__ = f"`{name}`, of an array's shape, dtype and order."
    return like


pagelocked_zeros = _zeros(pagelocked_empty, "pagelocked")
aligned_zeros = _zeros(aligned_empty, "aligned")
managed_zeros = _zeros(managed_empty, "managed")
pagelocked_empty_like = _like(pagelocked_empty, "pagelocked_empty")
pagelocked_zeros_like = _like(pagelocked_zeros, "pagelocked_zeros")
aligned_empty_like = _like(aligned_empty, "aligned_empty")
aligned_zeros_like = _like(aligned_zeros, "aligned_zeros")
managed_empty_like = _like(managed_empty, "managed_empty")
managed_zeros_like = _like(managed_zeros, "managed_zeros")


def managed_of(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array lies in managed memory."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, ManagedAllocation)
