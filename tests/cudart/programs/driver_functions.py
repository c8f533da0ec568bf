"""The driver's functions by name, and its logs."""

import ctypes
from ctypes import byref, c_char, c_int, c_size_t, c_uint, c_void_p

NOT_CHANGED = 7
CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, ctypes.c_char_p, c_size_t)


def _ask(runtime, call, name, *arguments):
    function, status = c_void_p(NOT_CHANGED), c_int(NOT_CHANGED)
    getattr(runtime, call)(name, byref(function), *arguments, byref(status))
    pointer = function.value
    found = pointer if pointer in (None, NOT_CHANGED) else "a pointer"
    runtime.note("function, status", [found, status.value])


def newest(runtime):
    for call in ("cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz"):
        for flags in (0, 1, 2, 3, 100):
            _ask(runtime, call, b"cuMemcpyHtoD", flags)
        for name in (b"cuInit", b"cuLaunchKernel", b"cuMemAlloc", b"cuNothing", b"nonsense", b""):
            _ask(runtime, call, name, 0)
        getattr(runtime, call)(b"cuInit", byref(c_void_p()), 0, None)
    runtime.cudaGetLastError()


def newest_without_a_status_crashes(runtime):
    runtime.cudaGetDriverEntryPoint(b"cuNothing", byref(c_void_p()), 0, None)


def newest_without_a_result_crashes(runtime):
    runtime.cudaGetDriverEntryPoint(b"cuInit", None, 0, byref(c_int()))


def newest_without_a_name_crashes(runtime):
    runtime.cudaGetDriverEntryPoint(None, byref(c_void_p()), 0, byref(c_int()))


def of_a_version(runtime):
    name = "cudaGetDriverEntryPointByVersion"
    for call in (name, name + "_ptsz"):
        for version in (12000, 4000, 3020, 3010, 2000, 1, 0):
            runtime.note("version", version)
            _ask(runtime, call, b"cuMemAlloc", version, 0)
        for version in (11060, 11050, 12000):
            runtime.note("version", version)
            _ask(runtime, call, b"cuLaunchKernelEx", version, 0)
        _ask(runtime, call, b"cuNothing", 12000, 0)
        _ask(runtime, call, b"cuInit", 12000, 100)
        _ask(runtime, call, b"cuInit", 1000000, 0)
    runtime.cudaGetLastError()


def of_a_version_without_a_result_crashes(runtime):
    runtime.cudaGetDriverEntryPointByVersion(b"cuInit", None, 12000, 0, byref(c_int()))


def of_a_version_without_a_name_crashes(runtime):
    runtime.cudaGetDriverEntryPointByVersion(None, byref(c_void_p()), 12000, 0, byref(c_int()))


def a_function_works(runtime):
    function = c_void_p()
    runtime.cudaGetDriverEntryPoint(b"cuDeviceGetCount", byref(function), 0, None)
    count = c_int()
    prototype = ctypes.CFUNCTYPE(c_int, c_void_p)
    runtime.note("code", prototype(function.value)(ctypes.addressof(count)))
    runtime.note("devices", count.value >= 1)


@CALLBACK
def _logged(_data, _level, _message, _length):
    pass


def logs(runtime):
    if runtime.major == 12:
        return
    position, size, text = c_uint(), c_size_t(1024), (c_char * 1024)()
    runtime.cudaLogsCurrent(byref(position), 0)
    runtime.cudaLogsDumpToMemory(byref(position), text, byref(size), 0)
    runtime.note("bytes", size.value)
    runtime.cudaLogsDumpToFile(byref(position), b"/no/such/folder/file", 0)
    handle = c_void_p()
    if runtime.cudaLogsRegisterCallback(_logged, None, byref(handle)) == 0:
        runtime.cudaLogsUnregisterCallback(handle)
    runtime.cudaLogsRegisterCallback(None, None, byref(handle))
    runtime.cudaLogsRegisterCallback(_logged, None, None)
    runtime.cudaLogsUnregisterCallback(None)
    runtime.cudaLogsCurrent(None, 0)
    runtime.cudaLogsCurrent(byref(position), 1)
    runtime.cudaLogsDumpToMemory(byref(position), None, None, 0)
    runtime.cudaLogsDumpToMemory(None, text, byref(size), 1)
    runtime.cudaLogsDumpToFile(None, None, 0)
    runtime.cudaGetLastError()
