# cupola/pycuda/_textures.py - texture references, and arrays of texels from matrices.
"""Textures of ``pycuda.driver``."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

import cupola
from cupola.pycuda._constants import (
    TRSF_NORMALIZED_COORDINATES,
    TRSF_READ_AS_INTEGER,
    address_mode,
    array3d_flags,
    array_format,
    filter_mode,
)
from cupola.pycuda._contexts import current
from cupola.pycuda._cuda_arrays import (
    _DTYPES,
    _PACKED,
    Array,
    ArrayDescriptor3D,
    Memcpy3D,
    dtype_to_array_format,
)
from cupola.pycuda._errors import LogicError, translated


class TextureReference:
    """A texture reference of a module; launches bind it as its setters say."""

    def __init__(self, module: cupola.Module, name: str) -> None:
        self._module, self._name = module, name
        self._array: Array | None = None
        self._memory: tuple[Any, ...] | None = None  # address, width, height, pitch
        self._format: tuple[Any, int] | None = None
        self._modes = [address_mode.CLAMP] * 3
        self._filter = filter_mode.POINT
        self._flags = 0
        self._texture: cupola.Texture | None = None

    def _changed(self) -> None:
        self._texture = None

    def set_array(self, array):
        """Read an `Array`, which is kept."""
        self._array, self._memory = array, None
        self._changed()

    def get_array(self):
        """The `Array` that it reads."""
        if self._array is None:
            raise LogicError("the texture reference reads no array")
        return self._array

    def set_address(self, devptr, bytes, allow_offset=False):
        """Read linear memory; returns the offset, which is 0."""
        self._memory, self._array = (devptr, bytes, 0, 0), None
        self._changed()
        return 0

    def set_address_2d(self, devptr, descr, pitch):
        """Read rows of device memory."""
        self._memory, self._array = (devptr, descr.width, descr.height, pitch), None
        self._format = (array_format(descr.format), descr.num_channels)
        self._changed()

    def set_format(self, fmt, num_components):
        """Set format and channels of linear memory."""
        self._format = (array_format(fmt), num_components)
        self._changed()

    def get_format(self):
        """Format and channels."""
        if self._array is not None:
            made = self._array.get_descriptor()
            return made.format, made.num_channels
        if self._format is None:
            raise LogicError("the texture reference has no format")
        return self._format

    def set_address_mode(self, dim, am):
        """Set what is read beyond the texels along an axis."""
        self._modes[dim] = address_mode(am)
        self._changed()

    def get_address_mode(self, dim):
        """The `address_mode` of an axis."""
        return self._modes[dim]

    def set_filter_mode(self, fm):
        """Set the `filter_mode`."""
        self._filter = filter_mode(fm)
        self._changed()

    def get_filter_mode(self):
        """The `filter_mode`."""
        return self._filter

    def set_flags(self, flags):
        """Set TRSF_READ_AS_INTEGER and TRSF_NORMALIZED_COORDINATES."""
        self._flags = flags
        self._changed()

    def get_flags(self):
        """The flags."""
        return self._flags

    def _bind(self) -> None:
        """Bind the module's reference."""
        if self._texture is None:
            self._texture = self._make()
        with translated():
            self._module.textures[self._name] = self._texture

    def _make(self) -> cupola.Texture:
        source, channels = self._source()
        integers = source.dtype.kind != "f"
        with translated():
            return cupola.Texture(
                source,
                address=tuple(mode.name.lower() for mode in self._modes),
                filter=self._filter.name.lower(),
                normalized=bool(self._flags & TRSF_NORMALIZED_COORDINATES),
                read="element"
                if not integers or self._flags & TRSF_READ_AS_INTEGER
                else "normalized_float",
                channels=channels,
            )

    def _source(self) -> tuple[Any, int]:
        if self._array is not None:
            return self._array._array, self._array._array.channels
        if self._memory is None:
            raise LogicError(f"the texture reference {self._name} reads nothing yet")
        fmt, channels = self.get_format()
        address, width, height, pitch = self._memory
        dtype = np.dtype(_DTYPES[fmt])
        last, steps = ((channels,), (dtype.itemsize,)) if channels > 1 else ((), ())
        texel = dtype.itemsize * channels
        if height:
            shape, strides = (height, width, *last), (pitch, texel, *steps)
        else:
            shape, strides = (width // texel, *last), (texel, *steps)
        with translated():
            view = cupola.Array.from_address(
                index(address), shape, dtype, strides=strides, owner=address,
                device=current()._owner._device,
            )  # fmt: skip
        return view, channels


class SurfaceReference:
    """A surface reference of a module."""

    def __init__(self, module: cupola.Module, name: str) -> None:
        self._module, self._name = module, name

    def set_array(self, array, flags=0):
        """Write an `Array`, which is kept."""
        with translated():
            self._module.textures[self._name] = array._array
        self._array = array

    def get_array(self):
        """The `Array` that it writes."""
        return self._array


def _filled(host: np.ndarray[Any, Any], shape: tuple[int, ...], fmt: Any, channels: int,
            flags: int = 0) -> Array:  # fmt: skip
    """An array of texels with a host array's bytes; `shape` in CUDA's order, width first."""
    width, height, depth = (*shape, 0, 0)[:3]
    descriptor = ArrayDescriptor3D()
    descriptor.width, descriptor.height, descriptor.depth = width, height, depth
    descriptor.format, descriptor.num_channels, descriptor.flags = fmt, channels, flags
    made = Array(descriptor)
    copy = Memcpy3D()
    copy.set_src_host(host)
    copy.set_dst_array(made)
    copy.width_in_bytes = copy.src_pitch = width * channels * np.dtype(_DTYPES[fmt]).itemsize
    copy.src_height = copy.height = max(height, 1)
    copy.depth = max(depth, 1)
    copy()
    return made


def _ordered(matrix: Any, order: str) -> tuple[Any, tuple[int, ...]]:
    """The matrix in memory order, and its lengths, beginning with the fastest axis."""
    if order.upper() not in ("C", "F"):
        raise LogicError("order must be either F or C")
    if order.upper() == "F":
        return np.asfortranarray(matrix), matrix.shape
    return np.ascontiguousarray(matrix), matrix.shape[::-1]


def matrix_to_array(matrix, order, allow_double_hack=False):
    """An `Array` with a host matrix of two axes."""
    if matrix.ndim != 2:
        raise TypeError("matrix_to_array takes a matrix of two axes")
    packed = _PACKED.get(matrix.dtype) if allow_double_hack else None
    fmt = dtype_to_array_format(packed[0] if packed else matrix.dtype)
    host, shape = _ordered(matrix, order)
    return _filled(host, shape, fmt, packed[1] if packed else 1)


def np_to_array(nparray, order, allowSurfaceBind=False):  # noqa: N803
    """An `Array` with a host array of two or three axes.

    Doubles and complex numbers become channels of smaller numbers.
    """
    if nparray.ndim not in (2, 3):
        raise LogicError("np_to_array takes an array of two or three axes")
    kind, channels = _PACKED.get(nparray.dtype, (nparray.dtype, 1))
    host, shape = _ordered(nparray, order)
    flags = 0
    if allowSurfaceBind:
        flags = array3d_flags.SURFACE_LDST
        if len(shape) == 2:
            shape, flags = (*shape, 1), flags | array3d_flags.LAYERED
    return _filled(host, shape, dtype_to_array_format(kind), channels, flags)


def gpuarray_to_array(gpuarray, order, allowSurfaceBind=False):  # noqa: N803
    """An `Array` with a GPUArray of two or three axes."""
    return np_to_array(gpuarray.get(), order, allowSurfaceBind)


def make_multichannel_2d_array(ndarray, order):
    """An `Array` of two axes whose texels have the third axis as channels."""
    if ndarray.ndim != 3:
        raise TypeError("make_multichannel_2d_array takes an array of three axes")
    host, shape = _ordered(ndarray, order)
    return _filled(host, shape[1:], dtype_to_array_format(ndarray.dtype), shape[0])


def bind_array_to_texref(ary, texref):
    """Let a texture reference read an `Array`, without filtering."""
    texref.set_array(ary)
    texref.set_address_mode(0, address_mode.CLAMP)
    texref.set_address_mode(1, address_mode.CLAMP)
    texref.set_filter_mode(filter_mode.POINT)


def matrix_to_texref(matrix, texref, order):
    """Let a texture reference read a copy of a host matrix."""
    bind_array_to_texref(matrix_to_array(matrix, order), texref)
