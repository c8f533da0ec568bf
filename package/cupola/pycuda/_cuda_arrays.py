# cupola/pycuda/_cuda_arrays.py - arrays of texels, and copies of boxes.
"""Arrays of ``pycuda.driver``."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

import cupola
from cupola.pycuda._constants import (
    array3d_flags,
    array_format,
)
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import LogicError, translated
from cupola.pycuda._memory import host_memory
from cupola.pycuda._streams import stream_of
from cupola.texture import CudaArray, copy_box

_DTYPES = {
    array_format.UNSIGNED_INT8: "u1", array_format.UNSIGNED_INT16: "u2",
    array_format.UNSIGNED_INT32: "u4", array_format.SIGNED_INT8: "i1",
    array_format.SIGNED_INT16: "i2", array_format.SIGNED_INT32: "i4",
    array_format.HALF: "f2", array_format.FLOAT: "f4",
}  # fmt: skip
_FORMATS = {np.dtype(name): known for known, name in _DTYPES.items()}
# Elements for which CUDA has no format, and how they are read: the dtype of a channel, and the
# number of channels.
_PACKED = {
    np.dtype(np.float64): ("i4", 2),
    np.dtype(np.int64): ("i4", 2),
    np.dtype(np.complex64): ("f4", 2),
    np.dtype(np.complex128): ("i4", 4),
}


def dtype_to_array_format(dtype):
    """The `array_format` of a dtype.

    Raises
    ------
    TypeError
        Where there is none.
    """
    found = _FORMATS.get(np.dtype(dtype))
    if found is None:
        raise TypeError(f"cannot convert dtype {np.dtype(dtype)} to an array format")
    return found


class ArrayDescriptor:
    """Width, height, format and channels of an array."""

    def __init__(self) -> None:
        self.width = self.height = self.num_channels = 0
        self.format = array_format.FLOAT


class ArrayDescriptor3D(ArrayDescriptor):
    """An `ArrayDescriptor` that also has a depth and flags."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.flags = 0


class Array:
    """Texels in a layout of the driver's choice."""

    def __init__(self, descriptor):
        flags = getattr(descriptor, "flags", 0)
        layered = bool(flags & array3d_flags.LAYERED)
        unknown = flags & ~(array3d_flags.LAYERED | array3d_flags.SURFACE_LDST)
        if unknown:
            raise NotImplementedError("arrays for cube maps and gathering are not supported")
        depth = getattr(descriptor, "depth", 0)
        sizes = [size for size in (depth, descriptor.height) if size]
        with translated():
            self._array = CudaArray(
                (*sizes, descriptor.width),
                _DTYPES[array_format(descriptor.format)],
                channels=descriptor.num_channels,
                layered=layered,
                surface=bool(flags & array3d_flags.SURFACE_LDST),
                device=current()._owner._device,
            )
        self._descriptor = (descriptor.width, descriptor.height, depth, flags)

    @property
    def handle(self):
        """The driver's handle."""
        return self._array.handle

    def free(self):
        """Free it now."""
        self._array.free()

    def get_descriptor(self):
        """An `ArrayDescriptor` equal to the one that the constructor got."""
        return self._describe(ArrayDescriptor())

    def get_descriptor_3d(self):
        """An `ArrayDescriptor3D` equal to the one that the constructor got."""
        made = self._describe(ArrayDescriptor3D())
        made.depth, made.flags = self._descriptor[2:]
        return made

    def _describe(self, made):
        made.width, made.height = self._descriptor[:2]
        made.format = dtype_to_array_format(self._array.dtype)
        made.num_channels = self._array.channels
        return made


class _Copy:
    """A copy of a box; its sides are set by methods."""

    def __init__(self) -> None:
        for side in ("src", "dst"):
            for name in ("x_in_bytes", "y", "z", "pitch", "height"):
                setattr(self, f"{side}_{name}", 0)
        self.width_in_bytes = self.height = 0
        self.depth = 1
        self._sides: dict[str, tuple[str, Any, Any]] = {}

    def _set(self, side: str, kind: str, place: Any, owner: Any = None) -> None:
        self._sides[side] = (kind, place, owner)

    def set_src_host(self, buffer):
        """Copy from a host buffer."""
        self._set("src", "host", host_memory(buffer, "set_src_host: buffer")[0], buffer)

    def set_dst_host(self, buffer):
        """Copy to a host buffer."""
        self._set("dst", "host", host_memory(buffer, "set_dst_host: buffer", True)[0], buffer)

    def set_src_array(self, array):
        """Copy from an `Array`."""
        self._set("src", "array", array._array)

    def set_dst_array(self, array):
        """Copy to an `Array`."""
        self._set("dst", "array", array._array)

    def set_src_device(self, devptr):
        """Copy from device memory."""
        self._set("src", "device", index(devptr), devptr)

    def set_dst_device(self, devptr):
        """Copy to device memory."""
        self._set("dst", "device", index(devptr), devptr)

    def set_src_unified(self, buffer):
        """Copy from memory of the host or of the device."""
        self._set("src", "unified", host_memory(buffer, "set_src_unified: buffer")[0], buffer)

    def set_dst_unified(self, buffer):
        """Copy to memory of the host or of the device."""
        self._set("dst", "unified", host_memory(buffer, "set_dst_unified: buffer", True)[0], buffer)

    def _box(self, side: str) -> tuple[Any, ...]:
        if side not in self._sides:
            raise LogicError(f"the copy's {side} was not set")
        kind, place, _ = self._sides[side]
        names = ("x_in_bytes", "y", "z", "pitch", "height")
        return (kind, place, *(int(getattr(self, f"{side}_{name}")) for name in names))

    def _queue(self, stream: cupola.Stream) -> None:
        with translated():
            copy_box(
                self._box("dst"), self._box("src"), self.width_in_bytes, self.height, self.depth,
                stream,
            )  # fmt: skip


class Memcpy2D(_Copy):
    """A copy of rows."""

    def __call__(self, stream_or_aligned=True, *, aligned=True):
        """Copy and wait, or queue the copy on a stream."""
        queued = hasattr(stream_or_aligned, "handle")
        self._queue(stream_or_aligned._stream if queued else stream_of(None))
        if not queued:
            current().synchronize()


class Memcpy3D(_Copy):
    """A copy of slices of rows."""

    def __call__(self, stream=None):
        """Copy and wait, or queue the copy on a stream."""
        self._queue(stream_of(stream))
        if stream is None:
            current().synchronize()


class Memcpy3DPeer(Memcpy3D):
    """A copy of slices of rows between two devices."""

    def set_src_context(self, ctx):
        """Name the context of the origin. Its address says the device."""

    def set_dst_context(self, ctx):
        """Name the context of the target. Its address says the device."""

    def _box(self, side: str) -> tuple[Any, ...]:
        kind, *rest = super()._box(side)
        return ("unified" if kind == "device" else kind, *rest)
