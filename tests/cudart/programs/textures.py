"""Texture and surface objects."""

import ctypes
from ctypes import byref, c_uint64

from cudart.memory_structures import (
    BORDER,
    CLAMP,
    FLOAT,
    OF_ARRAY,
    OF_LINEAR,
    OF_MIPMAPPED,
    OF_PITCH,
    SIGNED,
    SURFACE,
    UNSIGNED,
    WRAP,
    Channel,
    Extent,
    Linear,
    Resource,
    Rows,
    Texture,
    View,
    resource,
    values,
)

FLOATS = Channel(32, 0, 0, 0, FLOAT)
BYTES = Channel(8, 8, 8, 8, UNSIGNED)
INTS = Channel(32, 0, 0, 0, SIGNED)


def _texture(address=CLAMP, border=(0, 0, 0, 0), **fields):
    made = Texture(**fields)
    made.address[:] = [address] * 3
    made.border[:] = border
    return made


def _described(found):
    return [list(v) if isinstance(v, ctypes.Array) else v for v in values(found)]


def _resources(runtime):
    """Map a name to a resource: every kind, of several elements."""
    memory = runtime.handle("cudaMalloc", 1 << 16)
    made = {}
    for name, channel in [("floats", FLOATS), ("bytes", BYTES), ("ints", INTS)]:
        array = runtime.handle("cudaMallocArray", byref(channel), 16, 8, SURFACE)
        mipmap = runtime.handle(
            "cudaMallocMipmappedArray", byref(channel), Extent(16, 8, 0), 3, SURFACE
        )
        made[f"array of {name}"] = resource(OF_ARRAY, handle=array)
        made[f"mipmap of {name}"] = resource(OF_MIPMAPPED, handle=mipmap)
        made[f"linear {name}"] = resource(OF_LINEAR, linear=Linear(memory, channel, 1024))
        made[f"rows of {name}"] = resource(OF_PITCH, rows=Rows(memory, channel, 16, 8, 512))
    return made


def resources(runtime):
    handle, found = c_uint64(), Resource()
    for name, made in _resources(runtime).items():
        for texture in [
            _texture(),
            _texture(read=1),
            _texture(filter=1),
            _texture(filter=1, read=1, normalized=1, address=WRAP),
        ]:
            runtime.note(name, [texture.filter, texture.read])
            if runtime.cudaCreateTextureObject(byref(handle), byref(made), byref(texture), None):
                continue
            runtime.cudaGetTextureObjectResourceDesc(byref(found), handle)
            same = [found.type == made.type, found.of.handle == made.of.handle]
            if made.type == OF_LINEAR:
                same += [values(found.of.linear.channel), found.of.linear.bytes]
            if made.type == OF_PITCH:
                rows = found.of.rows
                same += [values(rows.channel), rows.width, rows.height, rows.pitch]
            runtime.note("resource", same)
            back = Texture()
            runtime.cudaGetTextureObjectTextureDesc(byref(back), handle)
            runtime.note("texture", [back.filter, back.read, back.normalized, back.address[0]])
            runtime.cudaDestroyTextureObject(handle)


def every_field(runtime):
    _fields(runtime, [
        {"filter": 1},
        {"address": BORDER, "border": (0.5, 1, 2, 3)},
        {"srgb": 1},
        {"level_filter": 1, "bias": 0.5, "least": 0.25, "most": 1.5},
        {"no_trilinear": 1},
        {"seamless": 1},
    ])  # fmt: skip


def filters_without_documented_samples(runtime):
    _fields(runtime, [{"anisotropy": 4}, {"filter": 1, "srgb": 1}])


def _fields(runtime, textures):
    of = _resources(runtime)["mipmap of bytes"]
    for fields in textures:
        handle, found = c_uint64(), Texture()
        runtime.note("fields", sorted(fields.items()))
        texture = _texture(**{"read": 1, "normalized": 1, **fields})
        if runtime.cudaCreateTextureObject(byref(handle), byref(of), byref(texture), None) == 0:
            runtime.cudaGetTextureObjectTextureDesc(byref(found), handle)
            runtime.note("texture", _described(found))


def views(runtime):
    handle, found = c_uint64(), View()
    of = _resources(runtime)["mipmap of floats"]
    runtime.cudaCreateTextureObject(byref(handle), byref(of), byref(_texture()), None)
    runtime.cudaGetTextureObjectResourceViewDesc(byref(found), handle)
    runtime.cudaDestroyTextureObject(handle)
    for fields in [
        {"format": 0x16, "width": 16, "height": 8, "last_level": 2},
        {"format": 0x16, "width": 8, "height": 4, "first_level": 1, "last_level": 1},
        {"format": 0x14, "width": 16, "height": 8, "last_level": 2},
        {"format": 0x16, "width": 15, "height": 8, "last_level": 2},
        {"format": 99, "width": 16, "height": 8},
    ]:
        runtime.note("view", list(fields.items()))
        if runtime.cudaCreateTextureObject(
            byref(handle), byref(of), byref(_texture()), byref(View(**fields))
        ):
            continue
        runtime.cudaGetTextureObjectResourceViewDesc(byref(found), handle)
        runtime.note("found", values(found)[:8])


def views_of_what_is_not_there(runtime):
    handle, made, texture = c_uint64(), _resources(runtime), _texture()
    mipmap, linear = made["mipmap of floats"], made["linear floats"]
    beyond = View(0x16, 16, 8, last_level=9)
    runtime.cudaCreateTextureObject(byref(handle), byref(mipmap), byref(texture), byref(beyond))
    line = View(0x16, 16, 0, 0)
    runtime.cudaCreateTextureObject(byref(handle), byref(linear), byref(texture), byref(line))


def wrong(runtime):
    handle = c_uint64()
    memory = runtime.handle("cudaMalloc", 4096)
    texture = _texture()
    for made in [
        resource(9),
        resource(OF_ARRAY, handle=None),
        resource(OF_MIPMAPPED, handle=None),
        resource(OF_LINEAR, linear=Linear(None, FLOATS, 1024)),
        resource(OF_LINEAR, linear=Linear(memory, Channel(7, 0, 0, 0, FLOAT), 1024)),
        resource(OF_LINEAR, linear=Linear(memory + 4, FLOATS, 1024)),
        resource(OF_LINEAR, linear=Linear(memory, FLOATS, 1 << 40)),
        resource(OF_LINEAR, linear=Linear(memory, FLOATS, 0)),
        resource(OF_PITCH, rows=Rows(memory, FLOATS, 16, 8, 500)),
        resource(OF_PITCH, rows=Rows(memory, FLOATS, 0, 8, 512)),
        resource(OF_PITCH, rows=Rows(memory, Channel(0, 0, 0, 0, FLOAT), 16, 8, 512)),
    ]:
        runtime.cudaCreateTextureObject(byref(handle), byref(made), byref(texture), None)
        runtime.cudaCreateSurfaceObject(byref(handle), byref(made))
    good = resource(OF_LINEAR, linear=Linear(memory, FLOATS, 1024))
    for texture in [
        _texture(filter=9), _texture(address=9), _texture(read=9), _texture(anisotropy=99),
        _texture(normalized=1), _texture(normalized=1, address=WRAP), _texture(address=WRAP),
    ]:  # fmt: skip
        runtime.cudaCreateTextureObject(byref(handle), byref(good), byref(texture), None)
    runtime.cudaCreateTextureObject(None, byref(good), byref(_texture()), None)
    runtime.cudaCreateTextureObject(byref(handle), None, byref(_texture()), None)
    runtime.cudaCreateTextureObject(byref(handle), byref(good), None, None)
    runtime.cudaDestroyTextureObject(0)
    runtime.cudaGetTextureObjectResourceDesc(byref(Resource()), 0)
    runtime.cudaGetTextureObjectTextureDesc(byref(Texture()), 0)
    runtime.cudaGetTextureObjectResourceViewDesc(byref(View()), 0)
    runtime.cudaCreateTextureObject(byref(handle), byref(good), byref(_texture()), None)
    runtime.cudaGetTextureObjectResourceDesc(None, handle)
    runtime.cudaGetTextureObjectTextureDesc(None, handle)
    runtime.cudaGetTextureObjectResourceViewDesc(None, handle)


def surfaces(runtime):
    handle, found = c_uint64(), Resource()
    for name, made in _resources(runtime).items():
        runtime.note("surface", name)
        if runtime.cudaCreateSurfaceObject(byref(handle), byref(made)) == 0:
            runtime.cudaGetSurfaceObjectResourceDesc(byref(found), handle)
            runtime.note("found", [found.type, found.of.handle == made.of.handle])
            runtime.cudaGetSurfaceObjectResourceDesc(None, handle)
            runtime.cudaDestroySurfaceObject(handle)
    plain = runtime.handle("cudaMallocArray", byref(FLOATS), 16, 8, 0)
    of = resource(OF_ARRAY, handle=plain)
    runtime.cudaCreateSurfaceObject(byref(handle), byref(of))
    runtime.cudaCreateSurfaceObject(None, byref(of))
    runtime.cudaCreateSurfaceObject(byref(handle), None)
    runtime.cudaGetSurfaceObjectResourceDesc(byref(found), 0)
    runtime.cudaDestroySurfaceObject(0)
