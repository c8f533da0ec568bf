# cupola/pycuda/_memory.py - memory of devices, linear copies and fills.
"""Device memory of ``pycuda.driver``."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from ctypes import c_size_t, c_uint, c_uint64, c_void_p
from operator import index
from typing import Any

import numpy as np

import cupola
from cupola.pycuda import _calls
from cupola.pycuda._constants import ipc_mem_flags
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import LogicError, translate, translated
from cupola.pycuda._streams import handle_of
from cupola.stream import refuse_captured


def _begin_copy() -> None:
    """Before a copy that waits: make the context current, refuse a capture."""
    current()
    with translated():
        refuse_captured(None, "a copy", "use its asynchronous form, such as memcpy_dtoh_async")


def host_memory(buffer: Any, what: str, written: bool = False) -> tuple[int, int]:
    """Address and bytes of a contiguous buffer of the host, in any order of axes.

    `what` names the function and its argument in errors.
    """
    array = buffer
    if not isinstance(buffer, (np.ndarray, np.generic)):
        try:
            array = np.frombuffer(buffer, np.uint8)
        except (TypeError, BufferError):
            raise TypeError(
                f"{what}: expected host memory, such as a NumPy array, got {described(buffer)}"
            ) from None
    if not array.flags.forc:
        raise ValueError(
            f"{what}: ndarray is not contiguous: copy a contiguous array, as in "
            "numpy.ascontiguousarray(array)"
        )
    if isinstance(array, np.generic):
        array = np.asarray(array)
    if written and not array.flags.writeable:
        raise ValueError(f"{what}: the target of a copy is read-only")
    return array.__array_interface__["data"][0], array.nbytes


def is_on_device(value: Any) -> bool:
    """Whether a value is device memory or an array in it."""
    return isinstance(value, (DeviceAllocation, PointerHolderBase)) or hasattr(
        value, "__cuda_array_interface__"
    )


def described(value: Any) -> str:
    """A value's type, and whether it is on a device, for errors."""
    return f"{type(value).__name__}{', which is in device memory' if is_on_device(value) else ''}"


def _device(what: str, value: Any) -> int:
    """The address of device memory."""
    try:
        return index(value)
    except TypeError:
        hint = "; the target is the first argument" if isinstance(value, np.ndarray) else ""
        raise TypeError(
            f"{what}: expected device memory or an address, got {type(value).__name__}{hint}"
        ) from None


def _access(name: str, *arguments: Any, size: int, **addresses: int) -> None:
    """Call a function of the driver that copies or writes `size` bytes.

    An error names the argument of PyCUDA's function whose memory is smaller.
    """
    try:
        _calls.call(name, *arguments)
    except LogicError as error:
        for argument, address in addresses.items():
            left = 0
            with suppress(LogicError):
                base, whole = mem_get_address_range(address)
                left = base + whole - address
            if left < size:
                raise LogicError(
                    f"{error}: {argument} has {left} bytes of device memory at {address:#x}, and "
                    f"{size} are accessed"
                ) from None
        raise


class PointerHolderBase:
    """A base class for device memory of other owners: `get_pointer` gives the address."""

    def get_pointer(self):
        """The address."""
        raise NotImplementedError(f"{type(self).__name__} has no get_pointer()")

    def as_buffer(self, size, offset=0):
        """The memory as a Python buffer, for memory that the host can reach."""
        return (ctypes.c_char * size).from_address(self.get_pointer() + offset)

    def __int__(self):
        return int(self.get_pointer())

    __index__ = __int__


class DeviceAllocation:
    """Device memory, freed with the last reference or by `free`; ``int(memory)`` is the address."""

    __slots__ = ("__weakref__", "_address", "_memory")

    def __init__(self, memory: cupola.Memory) -> None:
        self._memory = memory
        self._address = memory.address

    def __int__(self):
        if self._address is None:
            raise LogicError(
                "this device memory was freed by free(): free it after its last use, or allocate "
                "it again"
            )
        return self._address

    __index__ = __int__

    def free(self):
        """Free it now."""
        if self._memory is None:
            raise LogicError("this memory was freed already")
        self._memory.release()
        self._memory = self._address = None

    def as_buffer(self, size, offset=0):
        """The memory as a Python buffer, for memory that the host can reach."""
        return (ctypes.c_char * size).from_address(int(self) + offset)


def mem_get_info():
    """Free and total bytes of the current context's device."""
    with translated():
        return tuple(cupola.memory_info(current()._owner._number))[:2]


def mem_alloc(bytes):
    """Device memory.

    It comes from the device's pool, in the order of the default stream, which waits for other
    streams and for which they wait.
    """
    context = current()
    if not bytes:
        raise LogicError("cuMemAlloc failed: invalid argument: 0 bytes")
    try:
        return DeviceAllocation(
            cupola.alloc(bytes, device=context._owner._device, stream=context._legacy)
        )
    except cupola.Error as error:
        raise translate(error) from error


def mem_alloc_like(ary):
    """Device memory of an array's size."""
    return mem_alloc(ary.nbytes)


class _Pitched(DeviceAllocation):
    """Memory of the driver's own, whose rows are aligned."""

    __slots__ = ()

    def __init__(self, address: int) -> None:
        self._address, self._memory = address, self

    def release(self) -> None:
        """Free it."""
        address, self._address = self._address, 0
        if address:
            _calls.call("cuMemFree_v2", c_uint64(address))

    def __del__(self):
        with suppress(Exception):  # without a context, or while Python ends, there is none to free
            self.release()


def mem_alloc_pitch(width, height, access_size):
    """Rows of at least `width` bytes; returns the memory and the distance of rows."""
    pitch = c_size_t()
    current()
    address = _calls.value(
        c_uint64, "cuMemAllocPitch_v2", ctypes.byref(pitch), c_size_t(width), c_size_t(height),
        c_uint(access_size),
    )  # fmt: skip
    return _Pitched(address), pitch.value


def mem_get_address_range(devptr):
    """Address and bytes of the allocation at an address."""
    size = c_size_t()
    base = _calls.value(
        c_uint64, "cuMemGetAddressRange_v2", ctypes.byref(size), c_uint64(index(devptr))
    )
    return base, size.value


def pointer_get_attribute(attribute, devptr):
    """An attribute of an address."""
    return _calls.value(c_uint64, "cuPointerGetAttribute", int(attribute), c_uint64(index(devptr)))


def mem_get_ipc_handle(devptr):
    """The bytes with which another process opens the memory.

    Memory of `mem_alloc` is the device pool's, which has no handles. That of `mem_alloc_pitch` has.
    """
    handle = (ctypes.c_char * 64)()
    address = _device("mem_get_ipc_handle: devptr", devptr)
    try:
        _calls.call("cuIpcGetMemHandle", handle, c_uint64(address))
    except LogicError as error:
        raise LogicError(
            f"{error}: devptr is no memory of mem_alloc_pitch. Memory of mem_alloc is from the "
            "device's pool, which other processes cannot open: allocate it with "
            "mem_alloc_pitch(bytes, 1, 4)[0]"
        ) from None
    return handle.raw


class IPCMemoryHandle(PointerHolderBase):
    """Memory of another process."""

    def __init__(self, ipc_handle, flags=ipc_mem_flags.LAZY_ENABLE_PEER_ACCESS):
        current()
        with translated():
            self._memory = cupola.Memory.from_ipc_handle(bytes(ipc_handle))

    def get_pointer(self):
        """The address here."""
        return self._memory.address

    def close(self):
        """Give the memory back."""
        self._memory.release()


def to_device(bf_obj):
    """Device memory with a copy of a buffer."""
    address, size = host_memory(bf_obj, "to_device: bf_obj")
    _begin_copy()
    made = mem_alloc(size)
    _calls.call("cuMemcpyHtoD_v2", c_uint64(made._address), c_void_p(address), c_size_t(size))
    return made


def from_device(devptr, shape, dtype, order="C"):
    """A new host array with a copy of device memory."""
    made = np.empty(shape, dtype, order)
    memcpy_dtoh(made, devptr)
    return made


def from_device_like(devptr, other_ary):
    """A new host array like another one, with a copy of device memory."""
    made = np.empty_like(other_ary)
    memcpy_dtoh(made, devptr)
    return made


def memcpy_htod(dest, src):
    """Copy a host buffer to a device."""
    _begin_copy()
    address, size = host_memory(src, "memcpy_htod: src")
    target = _device("memcpy_htod: dest", dest)
    _access(
        "cuMemcpyHtoD_v2", c_uint64(target), c_void_p(address), c_size_t(size), size=size,
        dest=target,
    )  # fmt: skip


def memcpy_htod_async(dest, src, stream=None):
    """Queue a copy of a host buffer to a device."""
    address, size = host_memory(src, "memcpy_htod_async: src")
    target = _device("memcpy_htod_async: dest", dest)
    _access(
        "cuMemcpyHtoDAsync_v2", c_uint64(target), c_void_p(address), c_size_t(size),
        handle_of(stream), size=size, dest=target,
    )  # fmt: skip


def memcpy_dtoh(dest, src):
    """Copy device memory to a host buffer."""
    _begin_copy()
    address, size = host_memory(dest, "memcpy_dtoh: dest", True)
    source = _device("memcpy_dtoh: src", src)
    _access(
        "cuMemcpyDtoH_v2", c_void_p(address), c_uint64(source), c_size_t(size), size=size,
        src=source,
    )  # fmt: skip


def memcpy_dtoh_async(dest, src, stream=None):
    """Queue a copy of device memory to a host buffer."""
    address, size = host_memory(dest, "memcpy_dtoh_async: dest", True)
    source = _device("memcpy_dtoh_async: src", src)
    _access(
        "cuMemcpyDtoHAsync_v2", c_void_p(address), c_uint64(source), c_size_t(size),
        handle_of(stream), size=size, src=source,
    )  # fmt: skip


def memcpy_dtod(dest, src, size):
    """Copy on a device; queued on the default stream."""
    _begin_copy()
    target, source = _device("memcpy_dtod: dest", dest), _device("memcpy_dtod: src", src)
    _access(
        "cuMemcpyDtoD_v2", c_uint64(target), c_uint64(source), c_size_t(size), size=size,
        dest=target, src=source,
    )  # fmt: skip


def memcpy_dtod_async(dest, src, size, stream=None):
    """Queue a copy on a device."""
    target = _device("memcpy_dtod_async: dest", dest)
    source = _device("memcpy_dtod_async: src", src)
    _access(
        "cuMemcpyDtoDAsync_v2", c_uint64(target), c_uint64(source), c_size_t(size),
        handle_of(stream), size=size, dest=target, src=source,
    )  # fmt: skip


def memcpy_peer(dest, src, size, dest_context=None, src_context=None):
    """Copy from one device to another."""
    memcpy_peer_async(dest, src, size, dest_context, src_context)
    current().synchronize()


def memcpy_peer_async(dest, src, size, dest_context=None, src_context=None, stream=None):
    """Queue a copy from one device to another."""
    here = current()
    devices = [(given or here)._owner._number for given in (dest_context, src_context)]
    views = [
        cupola.Array.from_address(index(address), size, np.uint8, device=device)
        for address, device in zip((dest, src), devices, strict=True)
    ]
    with translated():
        views[0].set(views[1], stream=None if stream is None else stream._stream)


def _word(width: int, kind: Any, data: Any) -> Any:
    try:
        return kind(data)
    except TypeError:
        raise TypeError(
            f"memset: data: expected an int of {width} bits, got {data!r}; the bits of a float are "
            "numpy.float32(value).view('u4')"
        ) from None


def _fill(width: int) -> tuple[Any, Any]:
    kind = {8: ctypes.c_ubyte, 16: ctypes.c_ushort, 32: c_uint}[width]
    name = f"cuMemsetD{width}Async"

    def queued(dest, data, size, stream=None):
        target, word = _device(f"memset_d{width}: dest", dest), _word(width, kind, data)
        _access(
            name, c_uint64(target), word, c_size_t(size), handle_of(stream),
            size=size * width // 8, dest=target,
        )  # fmt: skip

    def fill(dest, data, size):
        queued(dest, data, size)

    fill.__doc__ = f"Write `size` values of {width} bits."
    queued.__doc__ = f"Queue writes of `size` values of {width} bits."
    return fill, queued


def _fill_rows(bits: int) -> tuple[Any, Any]:
    kind = {8: ctypes.c_ubyte, 16: ctypes.c_ushort, 32: c_uint}[bits]
    name = f"cuMemsetD2D{bits}Async"

    def queued(dest, pitch, data, width, height, stream=None):
        _calls.call(
            name, c_uint64(_device(f"memset_d2d{bits}: dest", dest)), c_size_t(pitch),
            _word(bits, kind, data), c_size_t(width), c_size_t(height), handle_of(stream),
        )  # fmt: skip

    def fill(dest, pitch, data, width, height):
        queued(dest, pitch, data, width, height)

    fill.__doc__ = f"Write `height` rows of `width` values of {bits} bits."
    queued.__doc__ = f"Queue writes of `height` rows of `width` values of {bits} bits."
    return fill, queued


memset_d8, memset_d8_async = _fill(8)
memset_d16, memset_d16_async = _fill(16)
memset_d32, memset_d32_async = _fill(32)
memset_d2d8, memset_d2d8_async = _fill_rows(8)
memset_d2d16, memset_d2d16_async = _fill_rows(16)
memset_d2d32, memset_d2d32_async = _fill_rows(32)
