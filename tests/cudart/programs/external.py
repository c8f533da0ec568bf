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
    none, params = (c_void_p * 1)(), (c_uint64 * 32)()
    for call in _signals_and_waits(runtime):
        call(none, params, 0, stream)


def _signals_and_waits(runtime):
    versions = ("", "_v2") if runtime.major == 12 else ("",)
    for name in ("cudaSignalExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync"):
        for version in versions:
            for suffix in ("", "_ptsz"):
                yield getattr(runtime, name + version + suffix)


def destruction_of_no_semaphore_crashes(runtime):
    runtime.cudaDestroyExternalSemaphore(None)


def a_null_semaphore_crashes(runtime):
    for call in _signals_and_waits(runtime):
        call((c_void_p * 1)(), (c_uint64 * 32)(), 1, 0)


def a_null_array_of_semaphores_crashes(runtime):
    for call in _signals_and_waits(runtime):
        call(None, (c_uint64 * 32)(), 1, 0)


def null_parameters_of_semaphores_crash(runtime):
    for call in _signals_and_waits(runtime):
        call((c_void_p * 1)(), None, 1, 0)
