"""Misuse of memory and pools."""

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

from driver_abi import *

from .world import NULL, cases, out, packed

SINK = c_uint64()

cases(
    cuMemAlloc_v2={
        "null": lambda w: w.cuMemAlloc_v2(NULL, 16),
        "nothing": lambda w: w.cuMemAlloc_v2(out(), 0),
        "too much": lambda w: w.cuMemAlloc_v2(out(), 1 << 50),
        "none": lambda w: w.without_context(lambda: w.cuMemAlloc_v2(out(), 16)),
        "in a capture": lambda w: w.capturing(lambda s: w.cuMemAlloc_v2(out(), 16)),
        "in a relaxed capture": lambda w: w.capturing(lambda s: w.cuMemAlloc_v2(out(), 16), 2),
    },
    cuMemAllocPitch_v2={
        "null": lambda w: w.cuMemAllocPitch_v2(NULL, out(), 16, 16, 4),
        "null pitch": lambda w: w.cuMemAllocPitch_v2(out(), NULL, 16, 16, 4),
        "no width": lambda w: w.cuMemAllocPitch_v2(out(), out(), 0, 16, 4),
        "no height": lambda w: w.cuMemAllocPitch_v2(out(), out(), 16, 0, 4),
        "element of 3": lambda w: w.cuMemAllocPitch_v2(out(), out(), 16, 16, 3),
        "element of 1": lambda w: w.cuMemAllocPitch_v2(out(), out(), 16, 16, 1),
    },
    cuMemFree_v2={
        "nowhere": lambda w: w.cuMemFree_v2(0x1234000),
        "inside": lambda w: w.cuMemFree_v2(w.memory + 256),
        "host's": lambda w: w.cuMemFree_v2(w.host),
        "pageable": lambda w: w.cuMemFree_v2(w.pageable),
        "none": lambda w: w.without_context(lambda: w.cuMemFree_v2(w.memory + 256)),
    },
    cuMemGetInfo_v2={
        "null": lambda w: w.cuMemGetInfo_v2(NULL, NULL),
        "null free": lambda w: w.cuMemGetInfo_v2(NULL, out()),
        "none": lambda w: w.without_context(lambda: w.cuMemGetInfo_v2(out(), out())),
    },
    cuMemGetAddressRange_v2={
        "nowhere": lambda w: w.cuMemGetAddressRange_v2(out(), out(), 0x1234000),
        "null": lambda w: w.cuMemGetAddressRange_v2(NULL, NULL, w.memory),
        "pageable": lambda w: w.cuMemGetAddressRange_v2(out(), out(), w.pageable),
    },
    cuMemHostAlloc={
        "null": lambda w: w.cuMemHostAlloc(NULL, 16, 0),
        "flags": lambda w: w.cuMemHostAlloc(out(), 16, 0x100),
        "too much": lambda w: w.cuMemHostAlloc(out(), 1 << 50, 0),
        "none": lambda w: w.without_context(lambda: w.cuMemHostAlloc(out(), 16, 0)),
    },
    cuMemAllocHost_v2={"null": lambda w: w.cuMemAllocHost_v2(NULL, 16)},
    cuMemFreeHost={
        "null": lambda w: w.cuMemFreeHost(NULL),
        "inside": lambda w: w.cuMemFreeHost(w.host + 8),
        "pageable": lambda w: w.cuMemFreeHost(w.pageable),
        "device's": lambda w: w.cuMemFreeHost(w.memory),
    },
    cuMemHostGetDevicePointer_v2={
        "null": lambda w: w.cuMemHostGetDevicePointer_v2(NULL, w.host, 0),
        "flags": lambda w: w.cuMemHostGetDevicePointer_v2(out(), w.host, 1),
        "pageable": lambda w: w.cuMemHostGetDevicePointer_v2(out(), w.pageable, 0),
        "device's": lambda w: w.cuMemHostGetDevicePointer_v2(out(), w.memory, 0),
    },
    cuMemHostGetFlags={
        "null": lambda w: w.cuMemHostGetFlags(NULL, w.host),
        "pageable": lambda w: w.cuMemHostGetFlags(out(), w.pageable),
    },
    cuMemHostRegister_v2={
        "null": lambda w: w.cuMemHostRegister_v2(NULL, 4096, 0),
        "nothing": lambda w: w.cuMemHostRegister_v2(w.pageable, 0, 0),
        "flags": lambda w: w.cuMemHostRegister_v2(w.pageable, 4096, 0x100),
        "what is pinned": lambda w: w.cuMemHostRegister_v2(w.host, 4096, 0),
        "twice": lambda w: (
            w.cuMemHostRegister_v2(w.pageable, 4096, 0),
            w.cuMemHostRegister_v2(w.pageable, 4096, 0),
            w.cuMemHostUnregister(w.pageable),
        )[1],
    },
    cuMemHostUnregister={
        "null": lambda w: w.cuMemHostUnregister(NULL),
        "never registered": lambda w: w.cuMemHostUnregister(w.pageable),
        "what is pinned": lambda w: w.cuMemHostUnregister(w.host),
    },
    cuMemAllocManaged={
        "null": lambda w: w.cuMemAllocManaged(NULL, 16, 1),
        "nothing": lambda w: w.cuMemAllocManaged(out(), 0, 1),
        "no flags": lambda w: w.cuMemAllocManaged(out(), 16, 0),
        "attached to one": lambda w: w.cuMemAllocManaged(out(), 16, 4),
    },
    cuMemcpyHtoD_v2={
        "nowhere": lambda w: w.cuMemcpyHtoD_v2(0x1234000, w.pageable, 16),
        "null": lambda w: w.cuMemcpyHtoD_v2(0, w.pageable, 16),
        "beyond": lambda w: w.cuMemcpyHtoD_v2(w.memory, w.pageable, 1 << 32),
        "no source": lambda w: w.cuMemcpyHtoD_v2(w.memory, NULL, 16),
        "nothing": lambda w: w.cuMemcpyHtoD_v2(0, NULL, 0),
        "none": lambda w: w.without_context(lambda: w.cuMemcpyHtoD_v2(w.memory, w.pageable, 16)),
        "in a capture": lambda w: w.capturing(
            lambda s: w.cuMemcpyHtoD_v2(w.memory, w.pageable, 16)
        ),
    },
    cuMemcpyDtoH_v2={
        "nowhere": lambda w: w.cuMemcpyDtoH_v2(w.pageable, 0x1234000, 16),
        "no destination": lambda w: w.cuMemcpyDtoH_v2(NULL, w.memory, 16),
    },
    cuMemcpyDtoD_v2={"nowhere": lambda w: w.cuMemcpyDtoD_v2(w.memory, 0x1234000, 16)},
    cuMemcpy={"null": lambda w: w.cuMemcpy(0, 0, 16), "nothing": lambda w: w.cuMemcpy(0, 0, 0)},
    cuMemcpyHtoDAsync_v2={
        "nowhere": lambda w: w.cuMemcpyHtoDAsync_v2(0x1234000, w.host, 16, w.stream),
    },
    cuMemcpyPeer={
        "null contexts": lambda w: w.cuMemcpyPeer(w.memory, 0, w.memory, 0, 16),
    },
    cuMemcpy2D_v2={"null": lambda w: w.cuMemcpy2D_v2(NULL)},
    cuMemcpy3D_v2={"null": lambda w: w.cuMemcpy3D_v2(NULL)},
    cuMemsetD8_v2={
        "nowhere": lambda w: w.cuMemsetD8_v2(0x1234000, 0, 16),
        "null": lambda w: w.cuMemsetD8_v2(0, 0, 16),
        "nothing": lambda w: w.cuMemsetD8_v2(0, 0, 0),
        "beyond": lambda w: w.cuMemsetD8_v2(w.memory, 0, 1 << 32),
    },
    cuMemsetD16_v2={"unaligned": lambda w: w.cuMemsetD16_v2(w.memory + 1, 0, 4)},
    cuMemsetD32_v2={"unaligned": lambda w: w.cuMemsetD32_v2(w.memory + 2, 0, 4)},
    cuMemsetD2D32_v2={
        "unaligned pitch": lambda w: w.cuMemsetD2D32_v2(w.memory, 18, 0, 4, 4),
        "pitch less than width": lambda w: w.cuMemsetD2D32_v2(w.memory, 8, 0, 4, 4),
    },
    cuPointerGetAttribute={
        "null": lambda w: w.cuPointerGetAttribute(NULL, 2, w.memory),
        "zero": lambda w: w.cuPointerGetAttribute(out(), 0, w.memory),
        "unknown": lambda w: w.cuPointerGetAttribute(out(), 99, w.memory),
        "memory type of pageable": lambda w: w.cuPointerGetAttribute(out(), 2, w.pageable),
        "context of pageable": lambda w: w.cuPointerGetAttribute(out(), 1, w.pageable),
        "device pointer of pageable": lambda w: w.cuPointerGetAttribute(out(), 3, w.pageable),
        "host pointer of pageable": lambda w: w.cuPointerGetAttribute(out(), 4, w.pageable),
        "host pointer of device memory": lambda w: w.cuPointerGetAttribute(out(), 4, w.memory),
        "buffer id of pageable": lambda w: w.cuPointerGetAttribute(out(), 7, w.pageable),
        "managed of pageable": lambda w: w.cuPointerGetAttribute(out(), 8, w.pageable),
        "ordinal of pageable": lambda w: w.cuPointerGetAttribute(out(), 9, w.pageable),
        "range of pageable": lambda w: w.cuPointerGetAttribute(out(), 11, w.pageable),
        "mapped of pageable": lambda w: w.cuPointerGetAttribute(out(), 13, w.pageable),
        "access flags of memory": lambda w: w.cuPointerGetAttribute(out(), 16, w.memory),
        "pool of memory": lambda w: w.cuPointerGetAttribute(out(), 17, w.memory),
        "mapping size of memory": lambda w: w.cuPointerGetAttribute(out(), 18, w.memory),
        "base address of memory": lambda w: w.cuPointerGetAttribute(out(), 19, w.memory),
        "block id of memory": lambda w: w.cuPointerGetAttribute(out(), 20, w.memory),
        "of null": lambda w: w.cuPointerGetAttribute(out(), 2, 0),
        "pageable, without a context": lambda w: w.without_context(
            lambda: w.cuPointerGetAttribute(out(), 2, w.pageable)
        ),
        "memory, without a context": lambda w: (
            w.memory,
            w.without_context(lambda: w.cuPointerGetAttribute(out(), 2, w.memory)),
        )[1],
    },
    cuPointerGetAttributes={
        "pageable, without a context": lambda w: w.without_context(
            lambda: w.cuPointerGetAttributes(
                1, byref(c_int(2)), byref(c_void_p(ctypes.addressof(SINK))), w.pageable
            )
        ),
        "none, without a context": lambda w: w.without_context(
            lambda: w.cuPointerGetAttributes(0, NULL, NULL, w.pageable)
        ),
        "none": lambda w: w.cuPointerGetAttributes(0, NULL, NULL, w.memory),
        "null": lambda w: w.cuPointerGetAttributes(1, NULL, NULL, w.memory),
        "unknown": lambda w: w.cuPointerGetAttributes(
            1, byref(c_int(99)), byref(c_void_p(ctypes.addressof(c_uint64()))), w.memory
        ),
    },
    cuPointerSetAttribute={
        "null": lambda w: w.cuPointerSetAttribute(NULL, 6, w.memory),
        "not to be set": lambda w: w.cuPointerSetAttribute(byref(c_int()), 2, w.memory),
        "pageable": lambda w: w.cuPointerSetAttribute(byref(c_int(1)), 6, w.pageable),
    },
    cuMemPrefetchAsync={
        "device memory": lambda w: w.cuMemPrefetchAsync(w.memory, 16, 0, 0),
        "nothing": lambda w: w.cuMemPrefetchAsync(w.managed, 0, 0, 0),
        "wrong device": lambda w: w.cuMemPrefetchAsync(w.managed, 16, 99, 0),
        "beyond": lambda w: w.cuMemPrefetchAsync(w.managed, 1 << 40, 0, 0),
    },
    cuMemAdvise={
        "unknown": lambda w: w.cuMemAdvise(w.managed, 4096, 99, 0),
        "zero": lambda w: w.cuMemAdvise(w.managed, 4096, 0, 0),
        "device memory": lambda w: w.cuMemAdvise(w.memory, 4096, 1, 0),
        "nothing": lambda w: w.cuMemAdvise(w.managed, 0, 1, 0),
        "wrong device": lambda w: w.cuMemAdvise(w.managed, 4096, 3, 99),
    },
    cuMemRangeGetAttribute={
        "null": lambda w: w.cuMemRangeGetAttribute(NULL, 4, 1, w.managed, 4096),
        "unknown": lambda w: w.cuMemRangeGetAttribute(out(), 4, 99, w.managed, 4096),
        "size of 3": lambda w: w.cuMemRangeGetAttribute(out(), 3, 1, w.managed, 4096),
        "nothing": lambda w: w.cuMemRangeGetAttribute(out(), 4, 1, w.managed, 0),
        "device memory": lambda w: w.cuMemRangeGetAttribute(out(), 4, 1, w.memory, 4096),
    },
    cuMemRangeGetAttributes={
        "none": lambda w: w.cuMemRangeGetAttributes(NULL, NULL, NULL, 0, w.managed, 4096),
    },
    cuIpcGetMemHandle={
        "null": lambda w: w.cuIpcGetMemHandle(NULL, w.memory),
        "nowhere": lambda w: w.cuIpcGetMemHandle(out(), 0x1234000),
        "managed": lambda w: w.cuIpcGetMemHandle(out(), w.managed),
        "host's": lambda w: w.cuIpcGetMemHandle(out(), w.host),
    },
    cuIpcGetEventHandle={
        "null": lambda w: w.cuIpcGetEventHandle(NULL, w.event),
        "one that isn't for it": lambda w: w.cuIpcGetEventHandle(out(), w.event),
    },
    cuIpcCloseMemHandle={"not opened": lambda w: w.cuIpcCloseMemHandle(w.memory)},
)

cases(
    cuMemAllocAsync={
        "null": lambda w: w.cuMemAllocAsync(NULL, 16, 0),
        "too much": lambda w: w.cuMemAllocAsync(out(), 1 << 50, 0),
        "none": lambda w: w.without_context(lambda: w.cuMemAllocAsync(out(), 16, 0)),
    },
    cuMemAllocFromPoolAsync={
        "null pool": lambda w: w.cuMemAllocFromPoolAsync(out(), 16, 0, 0),
        "null": lambda w: w.cuMemAllocFromPoolAsync(NULL, 16, w.pool, 0),
    },
    cuMemFreeAsync={
        "null": lambda w: w.cuMemFreeAsync(0, 0),
        "nowhere": lambda w: w.cuMemFreeAsync(0x1234000, 0),
        "inside": lambda w: w.cuMemFreeAsync(w.memory + 256, 0),
        "host's": lambda w: w.cuMemFreeAsync(w.host, 0),
    },
    cuMemPoolCreate={
        "null": lambda w: w.cuMemPoolCreate(NULL, w.pool_properties()),
        "no properties": lambda w: w.cuMemPoolCreate(out(), NULL),
        "kind 0": lambda w: w.cuMemPoolCreate(out(), w.pool_properties(kind=0)),
        "unknown handles": lambda w: w.cuMemPoolCreate(out(), w.pool_properties(handles=64)),
        "windows handles": lambda w: w.cuMemPoolCreate(out(), w.pool_properties(handles=2)),
        "wrong device": lambda w: w.cuMemPoolCreate(out(), w.pool_properties(location=(1, 99))),
        "no location": lambda w: w.cuMemPoolCreate(out(), w.pool_properties(location=(0, 0))),
    },
    cuMemPoolDestroy={
        "null": lambda w: w.cuMemPoolDestroy(0),
        "default": lambda w: w.cuMemPoolDestroy(w.default_pool),
    },
    cuMemPoolGetAttribute={
        "null pool": lambda w: w.cuMemPoolGetAttribute(0, 4, out()),
        "null": lambda w: w.cuMemPoolGetAttribute(w.pool, 4, NULL),
        "unknown": lambda w: w.cuMemPoolGetAttribute(w.pool, 99, out()),
    },
    cuMemPoolSetAttribute={
        "null": lambda w: w.cuMemPoolSetAttribute(w.pool, 4, NULL),
        "unknown": lambda w: w.cuMemPoolSetAttribute(w.pool, 99, out()),
        "of what is used": lambda w: w.cuMemPoolSetAttribute(w.pool, 7, byref(c_uint64())),
        "a high mark that is not zero": lambda w: w.cuMemPoolSetAttribute(
            w.pool, 8, byref(c_uint64(5))
        ),
    },
    cuMemPoolTrimTo={"null pool": lambda w: w.cuMemPoolTrimTo(0, 0)},
    cuMemPoolSetAccess={
        "null": lambda w: w.cuMemPoolSetAccess(w.pool, NULL, 1),
        "none": lambda w: w.cuMemPoolSetAccess(w.pool, NULL, 0),
        "wrong device": lambda w: w.cuMemPoolSetAccess(w.pool, w.access((1, 99)), 1),
        "its own device, taken away": lambda w: w.cuMemPoolSetAccess(
            w.pool, w.access((1, 0), 0), 1
        ),
    },
    cuMemPoolGetAccess={
        "null": lambda w: w.cuMemPoolGetAccess(NULL, w.pool, packed("ii", 1, 0)),
        "wrong device": lambda w: w.cuMemPoolGetAccess(out(), w.pool, packed("ii", 1, 99)),
    },
    cuMemPoolExportToShareableHandle={
        "not for it": lambda w: w.cuMemPoolExportToShareableHandle(out(), w.pool, 1, 0),
        "null": lambda w: w.cuMemPoolExportToShareableHandle(NULL, w.pool, 1, 0),
        "default": lambda w: w.cuMemPoolExportToShareableHandle(out(), w.default_pool, 1, 0),
    },
    cuMemPoolImportFromShareableHandle={
        "no descriptor": lambda w: w.cuMemPoolImportFromShareableHandle(
            out(), c_void_p(99999), 1, 0
        ),
        "null": lambda w: w.cuMemPoolImportFromShareableHandle(NULL, c_void_p(0), 1, 0),
    },
    cuMemPoolExportPointer={
        "not of a pool": lambda w: w.cuMemPoolExportPointer(out(), w.memory),
        "null": lambda w: w.cuMemPoolExportPointer(NULL, w.memory),
    },
    cuDeviceSetMemPool={"null": lambda w: w.cuDeviceSetMemPool(0, 0)},
    cuDeviceGetMemPool={
        "null": lambda w: w.cuDeviceGetMemPool(NULL, 0),
        "wrong device": lambda w: w.cuDeviceGetMemPool(out(), 99),
    },
)
