"""Memory of the device and the host, fills, advice."""

import ctypes
import mmap
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from cudart.memory_structures import (
    ON_DEVICE,
    ON_HOST,
    Attributes,
    Extent,
    IpcHandle,
    Location,
    Pitched,
)
from cudart.runtime import DEVICE_TO_HOST

GLOBAL, HOST, SINGLE = 1, 2, 4


def allocate(runtime):
    pointer = c_void_p()
    runtime.note("made", bool(runtime.handle("cudaMalloc", 100)))
    pointer.value = 5
    runtime.cudaMalloc(byref(pointer), 0)
    runtime.note("of nothing", pointer.value)
    runtime.cudaMalloc(None, 16)
    runtime.cudaMalloc(byref(pointer), 1 << 50)
    runtime.cudaFree(0)
    made = runtime.handle("cudaMalloc", 1024)
    runtime.cudaFree(made + 256)
    runtime.cudaFree(made)
    runtime.cudaFree(ctypes.addressof(pointer))
    runtime.cudaPeekAtLastError()


def rows(runtime):
    pointer, pitch = c_void_p(), c_size_t()
    runtime.cudaMallocPitch(byref(pointer), byref(pitch), 100, 3)
    runtime.note("pitch", pitch.value)
    runtime.cudaFree(pointer)
    for width, height in [(0, 3), (3, 0)]:
        runtime.cudaMallocPitch(byref(pointer), byref(pitch), width, height)
        runtime.note("nothing", [pointer.value, pitch.value])
    runtime.cudaMallocPitch(None, byref(pitch), 16, 16)
    runtime.cudaMallocPitch(byref(pointer), None, 16, 16)
    runtime.cudaMallocPitch(byref(pointer), byref(pitch), 1 << 40, 1 << 20)
    made = Pitched()
    runtime.cudaMalloc3D(byref(made), Extent(100, 5, 3))
    runtime.note("3-D", [made.pitch, made.width, made.height])
    runtime.cudaFree(made.pointer)
    runtime.cudaMalloc3D(byref(made), Extent(100, 0, 3))
    runtime.note("3-D of nothing", [made.pointer, made.pitch, made.width, made.height])
    runtime.cudaMalloc3D(None, Extent(1, 1, 1))
    runtime.cudaMalloc3D(byref(made), Extent(1 << 40, 1 << 20, 1))


def of_the_host(runtime):
    pointer, flags = c_void_p(), c_uint()
    runtime.cudaMallocHost(byref(pointer), 64)
    runtime.cudaHostGetFlags(byref(flags), pointer)
    runtime.note("flags", flags.value)
    device = c_void_p()
    runtime.cudaHostGetDevicePointer(byref(device), pointer, 0)
    runtime.note("same address", device.value == pointer.value)
    runtime.cudaHostGetDevicePointer(byref(device), pointer, 1)
    runtime.cudaHostGetDevicePointer(None, pointer, 0)
    runtime.cudaFreeHost(pointer.value + 8)
    runtime.cudaFree(pointer)
    runtime.cudaFreeHost(pointer)
    runtime.cudaFreeHost(0)
    for asked in (0, 1, 2, 4, 7, 8, 0x100):
        pointer.value = 0
        runtime.note("asked", asked)
        runtime.cudaHostAlloc(byref(pointer), 64, asked)
        if pointer.value:
            runtime.cudaHostGetFlags(byref(flags), pointer)
            runtime.note("flags", flags.value)
            runtime.cudaFreeHost(pointer)
    for name in ("cudaMallocHost", "cudaHostAlloc"):
        pointer.value = 5
        getattr(runtime, name)(byref(pointer), 0, 0)
        runtime.note("of nothing", pointer.value)
        getattr(runtime, name)(None, 64, 0)
        getattr(runtime, name)(byref(pointer), 1 << 50, 0)
    runtime.cudaHostGetFlags(byref(flags), ctypes.addressof(flags))
    runtime.cudaHostGetFlags(None, pointer)
    device = runtime.handle("cudaMalloc", 64)
    runtime.cudaFreeHost(device)


def register(runtime):
    memory = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    flags, device = c_uint(), c_void_p()
    for asked in (0, 1, 2, 3, 0x100):
        runtime.note("asked", asked)
        if runtime.cudaHostRegister(address, 4096, asked) == 0:
            runtime.cudaHostGetFlags(byref(flags), address)
            runtime.note("flags", flags.value)
            runtime.cudaHostGetDevicePointer(byref(device), address, 0)
            runtime.cudaHostRegister(address, 4096, 0)
            runtime.cudaHostUnregister(address)
    runtime.cudaHostUnregister(address)
    runtime.cudaHostUnregister(0)
    runtime.cudaHostRegister(0, 4096, 0)
    runtime.cudaHostRegister(address, 0, 0)


def managed(runtime):
    pointer = c_void_p()
    runtime.cudaMallocManaged(byref(pointer), 64, GLOBAL)
    runtime.cudaMemset(pointer, 7, 64)
    runtime.cudaDeviceSynchronize()
    runtime.note("byte", ctypes.string_at(pointer.value, 1)[0])
    runtime.cudaFree(pointer)
    for flags in (HOST, 0, SINGLE, 3, 8):
        runtime.note("flags", flags)
        runtime.cudaMallocManaged(byref(pointer), 64, flags)
    runtime.cudaMallocManaged(byref(pointer), 0, GLOBAL)
    runtime.cudaMallocManaged(None, 64, GLOBAL)


def attach(runtime):
    pointer = runtime.handle("cudaMallocManaged", 64, HOST)
    stream = runtime.handle("cudaStreamCreate")
    runtime.cudaStreamAttachMemAsync(stream, pointer, 0, SINGLE)
    runtime.cudaStreamAttachMemAsync(stream, pointer, 64, GLOBAL)
    runtime.cudaStreamAttachMemAsync(stream, pointer, 32, SINGLE)
    runtime.cudaStreamAttachMemAsync(stream, pointer, 0, 3)
    runtime.cudaStreamAttachMemAsync(0, pointer, 0, SINGLE)
    runtime.cudaStreamAttachMemAsync(stream, 0, 0, SINGLE)
    runtime.cudaStreamAttachMemAsync_ptsz(stream, pointer, 0, SINGLE)
    device = runtime.handle("cudaMalloc", 64)
    runtime.cudaStreamAttachMemAsync(stream, device, 0, SINGLE)


def information(runtime):
    free, total = c_size_t(), c_size_t()
    runtime.cudaMemGetInfo(byref(free), byref(total))
    runtime.note("free", 0 < free.value <= total.value)
    runtime.cudaMemGetInfo(None, byref(total))
    runtime.cudaMemGetInfo(byref(free), None)


def pointers(runtime):
    pageable = ctypes.create_string_buffer(64)
    kinds = {
        "device": runtime.handle("cudaMalloc", 64),
        "inside": runtime.handle("cudaMalloc", 64) + 8,
        "host": runtime.handle("cudaMallocHost", 64),
        "managed": runtime.handle("cudaMallocManaged", 64, GLOBAL),
        "pageable": ctypes.addressof(pageable),
        "null": 0,
    }
    for name, pointer in kinds.items():
        made = Attributes(-1, -1, 1, 1)
        runtime.cudaPointerGetAttributes(byref(made), pointer)
        same = [made.device_pointer == (pointer or None), made.host_pointer == (pointer or None)]
        null = [made.device_pointer is None, made.host_pointer is None]
        runtime.note(name, [made.type, made.device, same, null])
    runtime.cudaPointerGetAttributes(None, kinds["device"])


def fills(runtime):
    pointer = runtime.handle("cudaMalloc", 4096)
    stream = runtime.handle("cudaStreamCreate")
    found = ctypes.create_string_buffer(4096)
    whole = Pitched(pointer, 16, 16, 4)
    for name, target, *arguments in [
        ("cudaMemset", pointer, 1, 8),
        ("cudaMemset", pointer, -1, 0),
        ("cudaMemset", pointer, 0x1FF, 3),
        ("cudaMemset2D", pointer, 16, 2, 5, 3),
        ("cudaMemset2D", pointer, 16, 2, 0, 3),
        ("cudaMemset2D", pointer, 16, 2, 3, 0),
        ("cudaMemset2D", pointer, 16, 2, 17, 3),
        ("cudaMemset2D", pointer, 16, 2, 17, 1),
        ("cudaMemset3D", whole, 3, Extent(5, 2, 3)),
        ("cudaMemset3D", whole, 3, Extent(5, 4, 3)),
        ("cudaMemset3D", whole, 3, Extent(16, 4, 2)),
        ("cudaMemset3D", whole, 3, Extent(0, 4, 2)),
        ("cudaMemset3D", whole, 3, Extent(5, 4, 0)),
        ("cudaMemset3D", whole, 3, Extent(17, 4, 2)),
        ("cudaMemset3D", whole, 3, Extent(5, 5, 2)),
        ("cudaMemset3D", whole, 3, Extent(5, 5, 1)),
    ]:
        wide = [getattr(a, "width", a) for a in arguments]
        for suffix, last in [("", ()), ("Async", (stream,)), ("_ptds", ()), ("Async_ptsz", (0,))]:
            runtime.cudaMemset(pointer, 0, 4096)
            getattr(runtime, name + suffix)(target, *arguments, *last)
            runtime.cudaDeviceSynchronize()
            runtime.cudaMemcpy(found, pointer, 4096, DEVICE_TO_HOST)
            runtime.note(f"bytes {wide}", [sum(found.raw), sum(found.raw[:32]), found.raw[64]])
    pageable = ctypes.create_string_buffer(64)
    runtime.cudaMemset(ctypes.addressof(pageable), 1, 64)
    runtime.cudaMemset(0, 1, 64)
    runtime.cudaMemset(0, 1, 0)
    runtime.cudaMemset2D(0, 16, 1, 16, 2)
    runtime.cudaMemset3D(Pitched(0, 16, 16, 4), 1, Extent(4, 4, 1))


def advice(runtime):
    pointer = runtime.handle("cudaMallocManaged", 8192, GLOBAL)
    pageable = ctypes.create_string_buffer(64)
    device, host = Location(ON_DEVICE, 0), Location(ON_HOST, 0)
    new = runtime.cudaMemAdvise_v2 if runtime.major == 12 else runtime.cudaMemAdvise
    for advice in range(8):
        runtime.note("advice", advice)
        new(pointer, 4096, advice, device)
    new(pointer, 4096, 3, host)
    new(pointer, 4096, 3, Location(ON_DEVICE, 99))
    new(pointer, 4096, 3, Location(0, 0))
    new(pointer, 4096, 1, Location(0, 0))
    new(pointer, 0, 1, device)
    new(0, 4096, 1, device)
    new(pointer, 1 << 40, 1, device)
    new(runtime.handle("cudaMalloc", 4096), 4096, 1, device)
    if runtime.major == 12:
        runtime.cudaMemAdvise(pointer, 4096, 3, -1)
        runtime.cudaMemAdvise(pointer, 4096, 3, 0)
        runtime.cudaMemAdvise(pointer, 4096, 3, 99)
        runtime.cudaMemAdvise(pointer, 4096, 1, -2)
    found, more = c_int(), (c_int * 2)()
    for attribute in range(5):
        size = 8 if attribute == 3 else 4
        code = runtime.cudaMemRangeGetAttribute(more, size, attribute, pointer, 4096)
        runtime.note(f"attribute {attribute}", list(more) if code == 0 else None)
    runtime.cudaMemRangeGetAttribute(None, 4, 1, pointer, 4096)
    runtime.cudaMemRangeGetAttribute(byref(found), 3, 1, pointer, 4096)
    runtime.cudaMemRangeGetAttribute(byref(found), 4, 99, pointer, 4096)
    runtime.cudaMemRangeGetAttribute(byref(found), 4, 1, pointer, 0)
    runtime.cudaMemRangeGetAttribute(byref(found), 4, 1, ctypes.addressof(pageable), 64)
    data = (c_void_p * 2)(ctypes.addressof(found), ctypes.addressof(more))
    sizes, names = (c_size_t * 2)(4, 4), (c_int * 2)(1, 2)
    runtime.cudaMemRangeGetAttributes(data, sizes, names, 2, pointer, 4096)
    runtime.note("attributes", [found.value, more[0]])
    runtime.cudaMemRangeGetAttributes(data, sizes, names, 0, pointer, 4096)
    runtime.cudaMemRangeGetAttributes(None, sizes, names, 2, pointer, 4096)
    runtime.cudaMemRangeGetAttributes(data, None, names, 2, pointer, 4096)
    runtime.cudaMemRangeGetAttributes(data, sizes, None, 2, pointer, 4096)


def prefetch(runtime):
    pointer = runtime.handle("cudaMallocManaged", 8192, GLOBAL)
    stream = runtime.handle("cudaStreamCreate")
    device, host = Location(ON_DEVICE, 0), Location(ON_HOST, 0)
    for suffix in ("", "_ptsz"):
        name = "cudaMemPrefetchAsync" + ("_v2" if runtime.major == 12 else "") + suffix
        new = getattr(runtime, name)
        new(pointer, 4096, device, 0, stream)
        new(pointer, 4096, host, 0, 0)
        new(pointer, 4096, device, 1, stream)
        new(pointer, 0, device, 0, stream)
        new(0, 4096, device, 0, stream)
        new(pointer, 4096, Location(ON_DEVICE, 99), 0, stream)
        new(pointer, 4096, Location(0, 0), 0, stream)
        new(runtime.handle("cudaMalloc", 4096), 4096, device, 0, stream)
        if runtime.major == 12:
            old = getattr(runtime, "cudaMemPrefetchAsync" + suffix)
            old(pointer, 4096, 0, stream)
            old(pointer, 4096, -1, stream)
            old(pointer, 4096, 99, stream)
    runtime.cudaDeviceSynchronize()
    found = c_int()
    runtime.cudaMemRangeGetAttribute(byref(found), 4, 4, pointer, 4096)
    runtime.note("last prefetched to", found.value)


def batches_of_ranges(runtime):
    if runtime.major == 12:
        return
    pointer = runtime.handle("cudaMallocManaged", 1 << 21, GLOBAL)
    stream = runtime.handle("cudaStreamCreate")
    pointers, sizes = (c_void_p * 2)(pointer, pointer + 8192), (c_size_t * 2)(4096, 4096)
    locations = (Location * 1)(Location(ON_DEVICE, 0))
    indices = (c_size_t * 1)(0)
    wrong = (Location * 1)(Location(ON_DEVICE, 99))
    for name in ("cudaMemPrefetchBatchAsync", "cudaMemDiscardAndPrefetchBatchAsync"):
        for call in (getattr(runtime, name), getattr(runtime, name + "_ptsz")):
            call(pointers, sizes, 2, locations, indices, 1, 0, stream)
            call(pointers, sizes, 0, locations, indices, 1, 0, stream)
            call(pointers, sizes, 2, locations, indices, 0, 0, stream)
            call(pointers, sizes, 2, wrong, indices, 1, 0, stream)
            call(pointers, sizes, 2, locations, indices, 1, 1, stream)
            call(None, sizes, 2, locations, indices, 1, 0, stream)
    for call in (runtime.cudaMemDiscardBatchAsync, runtime.cudaMemDiscardBatchAsync_ptsz):
        call(pointers, sizes, 2, 0, stream)
        call(pointers, sizes, 0, 0, stream)
        call(pointers, sizes, 2, 1, stream)
        call(None, sizes, 2, 0, stream)
        call(pointers, None, 2, 0, stream)
    runtime.cudaDeviceSynchronize()


def of_other_processes(runtime):
    pointer = runtime.handle("cudaMalloc", 4096)
    handle = (c_uint64 * 8)()
    opened = c_void_p()
    runtime.cudaIpcGetMemHandle(handle, pointer)
    runtime.cudaIpcOpenMemHandle(byref(opened), IpcHandle(handle), 1)
    runtime.cudaIpcOpenMemHandle(byref(opened), IpcHandle(), 1)
    runtime.cudaIpcOpenMemHandle(byref(opened), IpcHandle(handle), 2)
    runtime.cudaIpcGetMemHandle(handle, 0)
    runtime.cudaIpcGetMemHandle(handle, ctypes.addressof(handle))
    runtime.cudaIpcCloseMemHandle(pointer)
    runtime.cudaIpcCloseMemHandle(0)


def a_null_ipc_handle_crashes(runtime):
    runtime.cudaIpcGetMemHandle(None, runtime.handle("cudaMalloc", 4096))


def opening_to_null_crashes(runtime):
    handle = (c_uint64 * 8)()
    runtime.cudaIpcGetMemHandle(handle, runtime.handle("cudaMalloc", 4096))
    runtime.cudaIpcOpenMemHandle(None, IpcHandle(handle), 1)
