"""Memory pools and allocation in the order of a stream."""

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

from cudart.memory_structures import ON_DEVICE, Access, Location, PoolProps

PINNED, FD = 1, 1


def _create(runtime, **fields):
    props = PoolProps(PINNED, location=Location(ON_DEVICE, 0), **fields)
    return runtime.handle("cudaMemPoolCreate", byref(props))


def of_the_device(runtime):
    default = runtime.handle("cudaDeviceGetDefaultMemPool", 0)
    runtime.note("current", runtime.handle("cudaDeviceGetMemPool", 0) == default)
    own = _create(runtime)
    runtime.cudaDeviceSetMemPool(0, own)
    runtime.note("own", runtime.handle("cudaDeviceGetMemPool", 0) == own)
    runtime.cudaDeviceSetMemPool(0, default)
    runtime.cudaMemPoolDestroy(own)
    runtime.cudaMemPoolDestroy(default)
    runtime.cudaMemPoolDestroy(0)
    pool = c_void_p()
    for name in ("cudaDeviceGetDefaultMemPool", "cudaDeviceGetMemPool"):
        getattr(runtime, name)(byref(pool), 99)
        getattr(runtime, name)(byref(pool), -1)
        getattr(runtime, name)(None, 0)
    runtime.cudaDeviceSetMemPool(99, default)
    runtime.cudaDeviceSetMemPool(0, 0)


def of_a_location(runtime):
    if runtime.major == 12:
        return
    device = Location(ON_DEVICE, 0)
    pool = c_void_p()
    default = runtime.handle("cudaMemGetDefaultMemPool", byref(device), PINNED)
    runtime.note("default", default == runtime.handle("cudaDeviceGetDefaultMemPool", 0))
    runtime.note("current", runtime.handle("cudaMemGetMemPool", byref(device), PINNED) == default)
    own = _create(runtime)
    runtime.cudaMemSetMemPool(byref(device), PINNED, own)
    runtime.note("own", runtime.handle("cudaMemGetMemPool", byref(device), PINNED) == own)
    runtime.cudaMemSetMemPool(byref(device), PINNED, default)
    runtime.cudaMemSetMemPool(byref(device), PINNED, 0)
    runtime.cudaMemSetMemPool(None, PINNED, own)
    for call in (runtime.cudaMemGetDefaultMemPool, runtime.cudaMemGetMemPool):
        call(None, byref(device), PINNED)
        call(byref(pool), None, PINNED)
        call(byref(pool), byref(Location(ON_DEVICE, 99)), PINNED)
        call(byref(pool), byref(device), 99)


def create(runtime):
    pool = c_void_p()
    for fields in [
        {"type": PINNED},
        {"type": 0},
        {"type": PINNED, "handles": 64},
        {"type": PINNED, "most": 1 << 20},
        {"type": PINNED, "usage": 99},
    ]:
        for location in (Location(ON_DEVICE, 0), Location(ON_DEVICE, 99), Location(0, 0)):
            runtime.note("props", [fields, location.type, location.id])
            runtime.cudaMemPoolCreate(byref(pool), byref(PoolProps(location=location, **fields)))
    runtime.cudaMemPoolCreate(None, byref(PoolProps(PINNED, location=Location(ON_DEVICE, 0))))
    runtime.cudaMemPoolCreate(byref(pool), None)


def attributes(runtime):
    pool = _create(runtime)
    value = c_uint64()
    for attribute in range(9):
        value.value = 0
        runtime.cudaMemPoolGetAttribute(pool, attribute, byref(value))
        runtime.note(f"attribute {attribute}", value.value)
    for attribute, wanted in [
        (4, 1 << 20),
        (1, 0),
        (6, 0),
        (8, 0),
        (6, 5),
        (5, 5),
        (7, 0),
        (99, 0),
    ]:
        value.value = wanted
        runtime.cudaMemPoolSetAttribute(pool, attribute, byref(value))
    runtime.cudaMemPoolGetAttribute(pool, 4, byref(value))
    runtime.note("threshold", value.value)
    runtime.cudaMemPoolTrimTo(pool, 0)


def a_null_value_crashes(runtime):
    runtime.cudaMemPoolGetAttribute(_create(runtime), 4, None)


def setting_a_null_value_crashes(runtime):
    runtime.cudaMemPoolSetAttribute(_create(runtime), 4, None)


def of_no_pool(runtime):
    value, flags, device = c_uint64(), c_int(), Location(ON_DEVICE, 0)
    runtime.cudaMemPoolTrimTo(0, 0)
    runtime.cudaMemPoolGetAttribute(0, 4, byref(value))
    runtime.cudaMemPoolSetAttribute(0, 4, byref(value))
    runtime.cudaMemPoolSetAccess(0, byref(Access(device, 3)), 1)
    runtime.cudaMemPoolGetAccess(byref(flags), 0, byref(device))


def access(runtime):
    pool = _create(runtime)
    flags, device = c_int(), Location(ON_DEVICE, 0)
    runtime.cudaMemPoolGetAccess(byref(flags), pool, byref(device))
    runtime.note("flags", flags.value)
    for wanted in (3, 0, 1, 99):
        runtime.note("wanted", wanted)
        runtime.cudaMemPoolSetAccess(pool, byref(Access(device, wanted)), 1)
    runtime.cudaMemPoolSetAccess(pool, byref(Access(Location(ON_DEVICE, 99), 3)), 1)
    runtime.cudaMemPoolSetAccess(pool, None, 0)
    runtime.cudaMemPoolGetAccess(byref(flags), pool, byref(Location(ON_DEVICE, 99)))


def null_descriptions_of_access_crash(runtime):
    runtime.cudaMemPoolSetAccess(_create(runtime), None, 1)


def null_flags_of_access_crash(runtime):
    runtime.cudaMemPoolGetAccess(None, _create(runtime), byref(Location(ON_DEVICE, 0)))


def a_null_location_of_access_crashes(runtime):
    runtime.cudaMemPoolGetAccess(byref(c_int()), _create(runtime), None)


def allocate(runtime):
    pool, stream = _create(runtime), runtime.handle("cudaStreamCreate")
    pointer = c_void_p()
    for suffix in ("", "_ptsz"):
        allocate = getattr(runtime, "cudaMallocAsync" + suffix)
        from_pool = getattr(runtime, "cudaMallocFromPoolAsync" + suffix)
        free = getattr(runtime, "cudaFreeAsync" + suffix)
        for where in (stream, 0):
            allocate(byref(pointer), 100, where)
            free(pointer, where)
            from_pool(byref(pointer), 100, pool, where)
            free(pointer, where)
        pointer.value = 5
        allocate(byref(pointer), 0, stream)
        runtime.note("of nothing", pointer.value)
        from_pool(byref(pointer), 0, pool, stream)
        allocate(None, 100, stream)
        from_pool(None, 100, pool, stream)
        from_pool(byref(pointer), 100, 0, stream)
        allocate(byref(pointer), 1 << 50, stream)
        free(0, stream)
    runtime.cudaStreamSynchronize(stream)
    allocate = runtime.handle("cudaMallocAsync", 100, stream)
    runtime.cudaFree(allocate)
    used = c_uint64()
    runtime.cudaMemPoolGetAttribute(pool, 7, byref(used))
    runtime.note("used", used.value)
    plain = runtime.handle("cudaMalloc", 100)
    runtime.cudaFreeAsync(plain, stream)
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaMemPoolDestroy(pool)


def shared(runtime):
    pool, closed = _create(runtime, handles=FD), _create(runtime)
    stream = runtime.handle("cudaStreamCreate")
    handle, data, opened = c_int(), (c_uint64 * 8)(), c_void_p()
    runtime.cudaMemPoolExportToShareableHandle(byref(handle), pool, FD, 0)
    imported = runtime.handle("cudaMemPoolImportFromShareableHandle", handle.value, FD, 0)
    runtime.note("imported", bool(imported))
    pointer = runtime.handle("cudaMallocFromPoolAsync", 100, pool, stream)
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaMemPoolExportPointer(data, pointer)
    runtime.cudaMemPoolImportPointer(byref(opened), imported, data)
    runtime.cudaMemPoolImportPointer(None, imported, data)
    runtime.cudaMemPoolImportPointer(byref(opened), 0, data)
    runtime.cudaMemPoolImportPointer(byref(opened), imported, None)
    runtime.cudaMemPoolExportPointer(None, pointer)
    runtime.cudaMemPoolExportPointer(data, 0)
    runtime.cudaMemPoolExportToShareableHandle(None, pool, FD, 0)
    runtime.cudaMemPoolExportToShareableHandle(byref(handle), 0, FD, 0)
    runtime.cudaMemPoolExportToShareableHandle(byref(handle), pool, FD, 1)
    runtime.cudaMemPoolExportToShareableHandle(byref(handle), pool, 0, 0)
    runtime.cudaMemPoolExportToShareableHandle(byref(handle), closed, FD, 0)
    runtime.cudaMemPoolImportFromShareableHandle(None, handle.value, FD, 0)
    runtime.cudaMemPoolImportFromShareableHandle(byref(opened), handle.value, FD, 1)
    runtime.cudaMemPoolImportFromShareableHandle(byref(opened), ctypes.c_uint(-1), FD, 0)
