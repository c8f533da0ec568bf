"""Arrays, textures and surfaces of the driver ABI, and CUDA's structures for them.

Tests of the driver's calls and of PTX both use it.
"""

import ctypes
from ctypes import c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

LAYERED, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8
READ_AS_INTEGER, NORMALIZED, SRGB, SEAMLESS = 1, 2, 0x10, 0x40
WRAP, CLAMP, MIRROR, BORDER = range(4)
POINT, LINEAR = 0, 1
OF_ARRAY, OF_MIPMAPPED, OF_LINEAR, OF_PITCH = range(4)
HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 0x10, "f4": 0x20}


class ArrayShape(ctypes.Structure):
    _fields_ = [
        ("width", c_size_t),
        ("height", c_size_t),
        ("format", c_int),
        ("channels", c_uint),
    ]


class Array3DShape(ctypes.Structure):
    _fields_ = [
        ("width", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
        ("format", c_int),
        ("channels", c_uint),
        ("flags", c_uint),
    ]


class _Linear(ctypes.Structure):
    _fields_ = [
        ("pointer", c_uint64),
        ("format", c_int),
        ("channels", c_uint),
        ("bytes", c_size_t),
    ]


class _Pitch(ctypes.Structure):
    _fields_ = [
        ("pointer", c_uint64),
        ("format", c_int),
        ("channels", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
        ("pitch", c_size_t),
    ]


class _Resource(ctypes.Union):
    _fields_ = [
        ("handle", c_void_p),
        ("linear", _Linear),
        ("pitch", _Pitch),
        ("reserved", c_int * 32),
    ]


class ResourceDesc(ctypes.Structure):
    _fields_ = [("type", c_int), ("of", _Resource), ("flags", c_uint)]

    @classmethod
    def array(cls, handle):
        made = cls(OF_ARRAY)
        made.of.handle = handle
        return made

    @classmethod
    def mipmapped(cls, handle):
        made = cls(OF_MIPMAPPED)
        made.of.handle = handle
        return made

    @classmethod
    def linear(cls, pointer, form=0x20, channels=1, size=1024):
        made = cls(OF_LINEAR)
        made.of.linear = _Linear(pointer, form, channels, size)
        return made

    @classmethod
    def pitch(cls, pointer, form=0x20, channels=1, width=16, height=8, pitch=512):
        made = cls(OF_PITCH)
        made.of.pitch = _Pitch(pointer, form, channels, width, height, pitch)
        return made


class TextureDesc(ctypes.Structure):
    _fields_ = [
        ("address", c_int * 3),
        ("filter", c_int),
        ("flags", c_uint),
        ("anisotropy", c_uint),
        ("level_filter", c_int),
        ("level_bias", c_float),
        ("level_least", c_float),
        ("level_most", c_float),
        ("border", c_float * 4),
        ("reserved", c_int * 12),
    ]

    @classmethod
    def of(cls, address=CLAMP, border=(0, 0, 0, 0), **fields):
        """``address`` of all axes, or a tuple with one for each."""
        made = cls(**fields)
        made.address[:] = address if isinstance(address, tuple) else (address,) * 3
        made.border[:] = border
        return made


class ViewDesc(ctypes.Structure):
    _fields_ = [
        ("format", c_int),
        ("width", c_size_t),
        ("height", c_size_t),
        ("depth", c_size_t),
        ("first_level", c_uint),
        ("last_level", c_uint),
        ("first_layer", c_uint),
        ("last_layer", c_uint),
        ("reserved", c_uint * 16),
    ]


class Copy3D(ctypes.Structure):
    """CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER where the contexts are set."""

    _fields_ = [
        (side + name, kind)
        for side in ("src", "dst")
        for name, kind in (
            ("X", c_size_t),
            ("Y", c_size_t),
            ("Z", c_size_t),
            ("LOD", c_size_t),
            ("Type", c_uint),
            ("Host", c_void_p),
            ("Device", c_uint64),
            ("Array", c_void_p),
            ("Context", c_void_p),
            ("Pitch", c_size_t),
            ("Height", c_size_t),
        )
    ]
    _fields_ += [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t)]


class Copy2D(ctypes.Structure):
    _fields_ = [
        (side + name, kind)
        for side in ("src", "dst")
        for name, kind in (
            ("X", c_size_t),
            ("Y", c_size_t),
            ("Type", c_uint),
            ("Host", c_void_p),
            ("Device", c_uint64),
            ("Array", c_void_p),
            ("Pitch", c_size_t),
        )
    ]
    _fields_ += [("width", c_size_t), ("height", c_size_t)]


def format_of(dtype):
    return FORMATS[np.dtype(dtype).str[1:]]


class Textures:
    """Makes arrays, textures and surfaces with a driver, and destroys them in ``close``."""

    def __init__(self, driver):
        self.driver, self._undo = driver, []

    def close(self):
        for name, handle in reversed(self._undo):
            self.driver.call(name, handle)
        self._undo = []

    def array(self, texels, flags=0, dims=None):
        """Texels of shape [[depth,] height,] width, channels; ``dims`` in CUDA's order."""
        texels = np.ascontiguousarray(texels)
        sizes = texels.shape[-2::-1]
        dims = dims or (*sizes, 0, 0)[:3]
        handle = c_void_p()
        shape = Array3DShape(*dims, format_of(texels.dtype), texels.shape[-1], flags)
        self.driver.cuArray3DCreate_v2(ctypes.byref(handle), ctypes.byref(shape))
        self._undo.append(("cuArrayDestroy", handle))
        self.fill(handle, texels, dims)
        return handle

    def fill(self, array, texels, dims):
        texels = np.ascontiguousarray(texels)
        row = dims[0] * texels.itemsize * texels.shape[-1]
        copy = Copy3D(width=row, height=dims[1] or 1, depth=dims[2] or 1)
        copy.srcType, copy.srcHost, copy.srcPitch = HOST, texels.ctypes.data, row
        copy.srcHeight, copy.dstType, copy.dstArray = copy.height, ARRAY, array
        self.driver.cuMemcpy3D_v2(ctypes.byref(copy))

    def read(self, array, like, dims=None):
        """The content of an array, in the shape and type of ``like``."""
        out = np.empty_like(like)
        dims = dims or (*like.shape[-2::-1], 1, 1)[:3]
        row = dims[0] * like.itemsize * like.shape[-1]
        copy = Copy3D(width=row, height=dims[1] or 1, depth=dims[2] or 1)
        copy.srcType, copy.srcArray, copy.dstType = ARRAY, array, HOST
        copy.dstHost, copy.dstPitch, copy.dstHeight = out.ctypes.data, row, copy.height
        self.driver.cuMemcpy3D_v2(ctypes.byref(copy))
        return out

    def mipmapped(self, levels, flags=0, dims=None):
        first = levels[0]
        dims = dims or (*first.shape[-2::-1], 0, 0)[:3]
        handle = c_void_p()
        shape = Array3DShape(*dims, format_of(first.dtype), first.shape[-1], flags)
        self.driver.cuMipmappedArrayCreate(
            ctypes.byref(handle), ctypes.byref(shape), c_uint(len(levels))
        )
        self._undo.append(("cuMipmappedArrayDestroy", handle))
        for n, texels in enumerate(levels):
            level = c_void_p()
            self.driver.cuMipmappedArrayGetLevel(ctypes.byref(level), handle, c_uint(n))
            self.fill(level, texels, (*texels.shape[-2::-1], 0, 0)[:3])
        return handle

    def memory(self, data):
        data = np.ascontiguousarray(data)
        pointer = c_uint64()
        self.driver.cuMemAlloc_v2(ctypes.byref(pointer), c_size_t(data.nbytes))
        self._undo.append(("cuMemFree_v2", pointer))
        self.driver.cuMemcpyHtoD_v2(pointer, c_void_p(data.ctypes.data), c_size_t(data.nbytes))
        return pointer.value

    def texture(self, resource, description=None, view=None):
        handle = c_uint64()
        self.driver.cuTexObjectCreate(
            ctypes.byref(handle),
            ctypes.byref(resource),
            ctypes.byref(description or TextureDesc.of()),
            ctypes.byref(view) if view else c_void_p(),
        )
        self._undo.append(("cuTexObjectDestroy", handle))
        return handle

    def surface(self, array):
        handle = c_uint64()
        resource = ResourceDesc.array(array.value)
        self.driver.cuSurfObjectCreate(ctypes.byref(handle), ctypes.byref(resource))
        self._undo.append(("cuSurfObjectDestroy", handle))
        return handle
