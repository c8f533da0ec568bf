"""CUDA's structures of the runtime API, for the programs."""

import ctypes
from ctypes import c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_ushort, c_void_p

# Memory, copies, arrays and textures.

SIGNED, UNSIGNED, FLOAT, NONE = range(4)
LAYERED, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8
WRAP, CLAMP, MIRROR, BORDER = range(4)
OF_ARRAY, OF_MIPMAPPED, OF_LINEAR, OF_PITCH = range(4)
ON_DEVICE, ON_HOST = 1, 2


def structure(name, **fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


def values(made):
    """The numbers of a structure, without those of structures in it."""
    return [getattr(made, name) for name, kind, *_ in made._fields_]


Channel = structure("Channel", x=c_int, y=c_int, z=c_int, w=c_int, kind=c_int)
Extent = structure("Extent", width=c_size_t, height=c_size_t, depth=c_size_t)
Position = structure("Position", x=c_size_t, y=c_size_t, z=c_size_t)
Pitched = structure("Pitched", pointer=c_void_p, pitch=c_size_t, width=c_size_t, height=c_size_t)
Copy = structure(
    "Copy",
    from_array=c_void_p,
    from_position=Position,
    source=Pitched,
    to_array=c_void_p,
    to_position=Position,
    target=Pitched,
    extent=Extent,
    kind=c_int,
)
assert ctypes.sizeof(Copy) == 160
PeerCopy = structure(
    "PeerCopy",
    from_array=c_void_p,
    from_position=Position,
    source=Pitched,
    from_device=c_int,
    to_array=c_void_p,
    to_position=Position,
    target=Pitched,
    to_device=c_int,
    extent=Extent,
)
Location = structure("Location", type=c_int, id=c_int)
CopyAttributes = structure(
    "CopyAttributes", order=c_int, source=Location, target=Location, flags=c_uint
)
_Pointer = structure("_Pointer", pointer=c_void_p, row=c_size_t, layer=c_size_t, location=Location)
Operand = structure("Operand", type=c_int, of=_Pointer)
BatchCopy = structure(
    "BatchCopy", source=Operand, target=Operand, extent=Extent, order=c_int, flags=c_uint
)
Attributes = structure(
    "Attributes", type=c_int, device=c_int, device_pointer=c_void_p, host_pointer=c_void_p,
    reserved=c_uint64 * 8,
)  # fmt: skip
PoolProps = structure(
    "PoolProps", type=c_int, handles=c_int, location=Location, security=c_void_p,
    most=c_size_t, usage=c_ushort, reserved=c_ubyte * 54,
)  # fmt: skip
IpcHandle = structure("IpcHandle", words=c_uint64 * 8)
Access = structure("Access", location=Location, flags=c_int)
Sparse = structure(
    "Sparse", width=c_uint, height=c_uint, depth=c_uint, first=c_uint, bytes=c_uint64,
    flags=c_uint, reserved=c_uint * 4,
)  # fmt: skip
Requirements = structure("Requirements", size=c_size_t, alignment=c_size_t, reserved=c_uint * 4)
Linear = structure("Linear", pointer=c_void_p, channel=Channel, bytes=c_size_t)
Rows = structure(
    "Rows", pointer=c_void_p, channel=Channel, width=c_size_t, height=c_size_t, pitch=c_size_t
)


class _Of(ctypes.Union):
    _fields_ = [
        ("handle", c_void_p), ("linear", Linear), ("rows", Rows), ("reserved", c_int * 32),
    ]  # fmt: skip


# Version 12 reads and writes the first 64 bytes only.
Resource = structure("Resource", type=c_int, of=_Of, flags=c_uint)
Texture = structure(
    "Texture",
    address=c_int * 3,
    filter=c_int,
    read=c_int,
    srgb=c_int,
    border=c_float * 4,
    normalized=c_int,
    anisotropy=c_uint,
    level_filter=c_int,
    bias=c_float,
    least=c_float,
    most=c_float,
    no_trilinear=c_int,
    seamless=c_int,
)
View = structure(
    "View",
    format=c_int,
    width=c_size_t,
    height=c_size_t,
    depth=c_size_t,
    first_level=c_uint,
    last_level=c_uint,
    first_layer=c_uint,
    last_layer=c_uint,
    reserved=c_uint * 16,
)
ExternalMemory = structure(
    "ExternalMemory", type=c_int, handle=c_uint64 * 2, size=c_uint64, flags=c_uint,
    reserved=c_uint * 16,
)  # fmt: skip
ExternalBuffer = structure(
    "ExternalBuffer", offset=c_uint64, size=c_uint64, flags=c_uint, reserved=c_uint * 16
)
ExternalArray = structure(
    "ExternalArray", offset=c_uint64, channel=Channel, extent=Extent, flags=c_uint,
    levels=c_uint, reserved=c_uint * 16,
)  # fmt: skip
ExternalSemaphore = structure(
    "ExternalSemaphore", type=c_int, handle=c_uint64 * 2, flags=c_uint, reserved=c_uint * 16
)


def resource(kind, **of):
    """``handle=``, ``linear=`` or ``rows=``."""
    made = Resource(kind)
    for name, value in of.items():
        setattr(made.of, name, value)
    return made
