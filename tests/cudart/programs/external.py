"""Memory and semaphores of other interfaces: what is wrong with them, as no device here has any."""

import os
from ctypes import byref, c_uint64, c_void_p

from cudart.memory_structures import (
    FLOAT,
    Channel,
    Extent,
    ExternalArray,
    ExternalBuffer,
    ExternalMemory,
    ExternalSemaphore,
)

FD = 1


def memory(runtime):
    made, pointer, mipmap = c_void_p(), c_void_p(), c_void_p()
    file = os.memfd_create("external")
    os.ftruncate(file, 1 << 21)
    for kind in (0, FD, 99):
        runtime.note("kind", kind)
        wanted = ExternalMemory(kind, (c_uint64 * 2)(file), 1 << 21)
        runtime.cudaImportExternalMemory(byref(made), byref(wanted))
    runtime.cudaImportExternalMemory(None, byref(ExternalMemory(FD)))
    runtime.cudaImportExternalMemory(byref(made), None)
    buffer = ExternalBuffer(0, 4096, 0)
    array = ExternalArray(0, Channel(32, 0, 0, 0, FLOAT), Extent(16, 16, 0), 0, 1)
    runtime.cudaExternalMemoryGetMappedBuffer(byref(pointer), None, byref(buffer))
    runtime.cudaExternalMemoryGetMappedBuffer(None, None, byref(buffer))
    runtime.cudaExternalMemoryGetMappedBuffer(byref(pointer), None, None)
    runtime.cudaExternalMemoryGetMappedMipmappedArray(byref(mipmap), None, byref(array))
    runtime.cudaExternalMemoryGetMappedMipmappedArray(None, None, byref(array))
    runtime.cudaExternalMemoryGetMappedMipmappedArray(byref(mipmap), None, None)
    runtime.cudaDestroyExternalMemory(None)


def semaphores(runtime):
    made, stream = c_void_p(), runtime.handle("cudaStreamCreate")
    file = os.memfd_create("external")
    for kind in (0, FD, 99):
        runtime.note("kind", kind)
        wanted = ExternalSemaphore(kind, (c_uint64 * 2)(file))
        runtime.cudaImportExternalSemaphore(byref(made), byref(wanted))
    runtime.cudaImportExternalSemaphore(None, byref(ExternalSemaphore(FD)))
    runtime.cudaImportExternalSemaphore(byref(made), None)
    runtime.cudaDestroyExternalSemaphore(None)
    none, params = (c_void_p * 1)(), (c_uint64 * 32)()
    for name in ("cudaSignalExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync"):
        for version in ("", "_v2") if runtime.major == 12 else ("",):
            for suffix in ("", "_ptsz"):
                call = getattr(runtime, name + version + suffix)
                call(none, params, 1, stream)
                call(None, params, 1, stream)
                call(none, None, 1, stream)
                call(none, params, 0, stream)
