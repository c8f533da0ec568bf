"""Arrays and mipmapped arrays."""

from ctypes import byref, c_uint, c_void_p

from cudart.memory_structures import (
    CUBEMAP,
    FLOAT,
    GATHER,
    LAYERED,
    NONE,
    SIGNED,
    SURFACE,
    UNSIGNED,
    Channel,
    Extent,
    Requirements,
    Sparse,
    values,
)

FLOATS = Channel(32, 0, 0, 0, FLOAT)


def descriptions(runtime):
    create = runtime.library.cudaCreateChannelDesc
    create.restype = Channel
    runtime.called.add("cudaCreateChannelDesc")
    runtime.note("created", values(create(8, 16, 32, 64, UNSIGNED)))
    runtime.note("any", values(create(-1, 0, 99, 7, 55)))


def channels(runtime):
    _channels(runtime, (SIGNED, UNSIGNED, FLOAT, NONE, 32, 99))


def channels_of_named_formats(runtime):
    _channels(runtime, (4, 5, 7, 10, 14, 16, 17, 23, 30, 31))


def _channels(runtime, kinds):
    found, array = Channel(), c_void_p()
    bits = [
        (8,), (16,), (32,), (64,), (8, 8), (16, 16), (32, 32), (8, 8, 8), (32, 32, 32),
        (8, 8, 8, 8), (16, 16, 16, 16), (32, 32, 32, 32), (8, 16), (0, 8), (8, 0, 8), (24,), (0,),
        (10, 10, 10, 2),
    ]  # fmt: skip
    for kind in kinds:
        for each in bits:
            channel = Channel(*each, *[0] * (4 - len(each)), kind)
            runtime.note("channel", [*each, kind])
            if runtime.cudaMallocArray(byref(array), byref(channel), 16, 8, 0) == 0:
                runtime.cudaGetChannelDesc(byref(found), array)
                runtime.note("found", values(found))
                runtime.cudaFreeArray(array)


def shapes(runtime):
    array, found, extent, flags = c_void_p(), Channel(), Extent(), c_uint()
    for shape, asked in [
        ((16, 0, 0), 0),
        ((16, 8, 0), SURFACE),
        ((16, 8, 0), GATHER),
        ((16, 8, 4), 0),
        ((16, 0, 4), LAYERED),
        ((16, 8, 4), LAYERED | SURFACE),
        ((16, 16, 6), CUBEMAP),
        ((16, 16, 12), CUBEMAP | LAYERED),
        ((16, 8, 6), CUBEMAP),
        ((16, 16, 5), CUBEMAP),
        ((16, 8, 4), GATHER),
        ((0, 8, 4), 0),
        ((16, 0, 4), 0),
        ((0, 0, 0), 0),
        ((1 << 20, 1 << 20, 0), 0),
        ((16, 8, 0), 0x1000),
    ]:
        runtime.note("shape", [shape, asked])
        code = runtime.cudaMalloc3DArray(byref(array), byref(FLOATS), Extent(*shape), asked)
        if code == 0:
            runtime.cudaArrayGetInfo(byref(found), byref(extent), byref(flags), array)
            runtime.note("info", [values(found), values(extent), flags.value])
            runtime.cudaFreeArray(array)
        if shape[2] == 0:
            runtime.cudaMallocArray(byref(array), byref(FLOATS), *shape[:2], asked)
    runtime.cudaMallocArray(None, byref(FLOATS), 16, 8, 0)
    runtime.cudaMallocArray(byref(array), None, 16, 8, 0)
    runtime.cudaMalloc3DArray(None, byref(FLOATS), Extent(16, 8, 0), 0)
    runtime.cudaMalloc3DArray(byref(array), None, Extent(16, 8, 0), 0)
    runtime.cudaFreeArray(None)


def information(runtime):
    array = runtime.handle("cudaMallocArray", byref(FLOATS), 16, 8, 0)
    found, plane = Channel(), c_void_p()
    runtime.cudaArrayGetInfo(None, None, None, array)
    runtime.cudaArrayGetInfo(byref(found), None, None, None)
    runtime.cudaGetChannelDesc(None, array)
    runtime.cudaGetChannelDesc(byref(found), None)
    for index in (0, 1):
        runtime.cudaArrayGetPlane(byref(plane), array, index)
    runtime.cudaArrayGetPlane(None, array, 0)
    runtime.cudaArrayGetPlane(byref(plane), None, 0)
    sparse, need = Sparse(), Requirements()
    runtime.cudaArrayGetSparseProperties(byref(sparse), array)
    runtime.cudaArrayGetSparseProperties(None, array)
    runtime.cudaArrayGetSparseProperties(byref(sparse), None)
    code = runtime.cudaArrayGetMemoryRequirements(byref(need), array, 0)
    runtime.note("requirements", need.size > 0 if code == 0 else None)
    runtime.cudaArrayGetMemoryRequirements(byref(need), array, 99)
    runtime.cudaArrayGetMemoryRequirements(None, array, 0)
    runtime.cudaArrayGetMemoryRequirements(byref(need), None, 0)
    runtime.cudaFreeArray(array)


def planes(runtime):
    array, plane, found = c_void_p(), c_void_p(), Channel()
    if runtime.cudaMallocArray(byref(array), byref(Channel(8, 8, 8, 0, 4)), 16, 8, 0):
        return
    for index in (0, 1, 2):
        if runtime.cudaArrayGetPlane(byref(plane), array, index) == 0:
            runtime.cudaGetChannelDesc(byref(found), plane)
            runtime.note("plane", values(found))


def mipmapped(runtime):
    mipmap, level, extent = c_void_p(), c_void_p(), Extent()
    for shape, levels, flags in [
        ((16, 8, 0), 3, 0),
        ((16, 8, 0), 0, 0),
        ((16, 8, 0), 99, 0),
        ((16, 0, 0), 2, 0),
        ((16, 8, 4), 5, SURFACE),
        ((16, 8, 4), 2, LAYERED),
        ((0, 0, 0), 1, 0),
    ]:
        runtime.note("shape", [shape, levels, flags])
        if runtime.cudaMallocMipmappedArray(
            byref(mipmap), byref(FLOATS), Extent(*shape), levels, flags
        ):
            continue
        for number in range(7):
            if runtime.cudaGetMipmappedArrayLevel(byref(level), mipmap, number) == 0:
                runtime.cudaArrayGetInfo(None, byref(extent), None, level)
                runtime.note("level", values(extent))
        runtime.cudaFreeMipmappedArray(mipmap)
    runtime.cudaMallocMipmappedArray(None, byref(FLOATS), Extent(16, 8, 0), 1, 0)
    runtime.cudaMallocMipmappedArray(byref(mipmap), None, Extent(16, 8, 0), 1, 0)
    wrong = Channel(3, 0, 0, 0, FLOAT)
    runtime.cudaMallocMipmappedArray(byref(mipmap), byref(wrong), Extent(16, 8, 0), 1, 0)
    runtime.cudaMallocMipmappedArray(byref(mipmap), byref(FLOATS), Extent(16, 8, 0), 2, 0)
    sparse, need = Sparse(), Requirements()
    runtime.cudaGetMipmappedArrayLevel(None, mipmap, 0)
    runtime.cudaGetMipmappedArrayLevel(byref(level), None, 0)
    runtime.cudaMipmappedArrayGetSparseProperties(byref(sparse), mipmap)
    runtime.cudaMipmappedArrayGetSparseProperties(None, mipmap)
    runtime.cudaMipmappedArrayGetSparseProperties(byref(sparse), None)
    runtime.cudaMipmappedArrayGetMemoryRequirements(byref(need), mipmap, 0)
    runtime.cudaMipmappedArrayGetMemoryRequirements(byref(need), mipmap, 99)
    runtime.cudaMipmappedArrayGetMemoryRequirements(None, mipmap, 0)
    runtime.cudaMipmappedArrayGetMemoryRequirements(byref(need), None, 0)
    runtime.cudaFreeMipmappedArray(mipmap)
    runtime.cudaFreeMipmappedArray(None)


def sparse(runtime):
    array, found, need = c_void_p(), Sparse(), Requirements()
    if runtime.cudaMallocArray(byref(array), byref(FLOATS), 4096, 4096, 0x40):
        return
    runtime.cudaArrayGetSparseProperties(byref(found), array)
    runtime.note("tile", [found.width, found.height, found.depth])
    runtime.cudaArrayGetMemoryRequirements(byref(need), array, 0)
