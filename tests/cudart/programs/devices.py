"""Devices: their number, attributes, properties, flags, limits and peers."""

import ctypes
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p, sizeof

from cudart.device_structures import device_properties
from cudart.memory_structures import Channel

ATTRIBUTES = range(1, 126)
BUFFER = 4096  # larger than any cudaDeviceProp


def versions(runtime):
    runtime.note("runtime", runtime.integer("cudaRuntimeGetVersion"))
    runtime.note("driver", runtime.integer("cudaDriverGetVersion") >= 12000)


def the_current_device(runtime):
    count = runtime.integer("cudaGetDeviceCount")
    runtime.note("devices", count >= 1)
    runtime.note("device", runtime.integer("cudaGetDevice"))
    for device in (0, -1, count, 2**31 - 1):
        runtime.cudaSetDevice(device)
    runtime.note("device", runtime.integer("cudaGetDevice"))
    runtime.cudaGetLastError()


def each_thread_has_its_device(runtime):
    runtime.cudaSetDevice(0)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(runtime.integer("cudaGetDevice")))
    thread.start()
    thread.join()
    runtime.note("device", seen)


def valid_devices(runtime):
    runtime.cudaSetValidDevices(None, 0)
    runtime.cudaSetValidDevices(None, 1)
    runtime.cudaSetValidDevices((c_int * 1)(-1), 1)
    runtime.cudaSetValidDevices((c_int * 1)(1000), 1)
    runtime.cudaSetValidDevices((c_int * 1)(0), -1)
    runtime.cudaSetValidDevices((c_int * 1)(0), 1000)
    runtime.cudaSetValidDevices((c_int * 1)(0), 1)
    runtime.note("device", runtime.integer("cudaGetDevice"))
    runtime.cudaSetValidDevices((c_int * 1)(0), 0)
    runtime.cudaDeviceSynchronize()


def valid_devices_after_the_first_use(runtime):
    runtime.cudaDeviceSynchronize()
    runtime.cudaSetValidDevices((c_int * 1)(0), 1)
    runtime.note("device", runtime.integer("cudaGetDevice"))


def attributes(runtime):
    value = c_int()
    get = runtime.library.cudaDeviceGetAttribute
    refused = [number for number in ATTRIBUTES if get(byref(value), number, 0)]
    runtime.note("refused", refused)
    for attribute, device in ((0, 0), (-1, 0), (1000, 0), (10, -1), (10, 1000)):
        runtime.cudaDeviceGetAttribute(byref(value), attribute, device)
    runtime.cudaDeviceGetAttribute(None, 10, 0)
    runtime.cudaDeviceGetAttribute(None, 10, -1)
    runtime.note("warp", runtime.integer("cudaDeviceGetAttribute", 10, 0))


def _get_properties(runtime):
    name = "cudaGetDeviceProperties_v2" if runtime.major == 12 else "cudaGetDeviceProperties"
    return getattr(runtime, name)


def properties(runtime):
    kind, attributes = device_properties(runtime.major)
    runtime.note("bytes", sizeof(kind))
    buffer = (ctypes.c_ubyte * BUFFER)(*[0xA5] * BUFFER)
    _get_properties(runtime)(buffer, 0)
    runtime.note("bytes after it", all(byte == 0xA5 for byte in buffer[sizeof(kind) :]))
    found = kind.from_buffer(buffer)
    runtime.note("name", len(found.name) > 0)
    runtime.note("memory", found.totalGlobalMem > 2**28)
    runtime.note("UUID", any(found.uuid))
    differ = []
    for field, numbers in attributes.items():
        there = getattr(found, field)
        there = list(there) if len(numbers) > 1 else [there]
        wanted = []
        for number in numbers:
            value = c_int()
            runtime.library.cudaDeviceGetAttribute(byref(value), number, 0)
            wanted.append(value.value)
        if there != wanted:
            differ.append(field)
    runtime.note("fields that differ from the attributes", differ)
    runtime.cudaGetLastError()


def properties_of_no_device(runtime):
    buffer = (ctypes.c_ubyte * BUFFER)()
    get = _get_properties(runtime)
    get(buffer, -1)
    get(buffer, 1000)
    get(None, 0)
    get(None, -1)
    runtime.note("written", any(buffer))
    runtime.cudaGetLastError()


def properties_of_version_11(runtime):
    if runtime.major != 12:
        return
    kind, _ = device_properties(12)
    new = kind()
    old = (ctypes.c_ubyte * BUFFER)(*[0xA5] * BUFFER)
    runtime.cudaGetDeviceProperties_v2(byref(new), 0)
    runtime.cudaGetDeviceProperties(old, 0)
    end = kind.reservedSharedMemPerBlock.offset + kind.reservedSharedMemPerBlock.size
    runtime.note("bytes", end)
    runtime.note("prefix", bytes(old)[:end] == bytes(new)[:end])
    runtime.note("bytes after it", all(byte == 0xA5 for byte in old[end:]))
    runtime.cudaGetDeviceProperties(None, 0)
    runtime.cudaGetDeviceProperties(old, -1)


def a_device_by_properties(runtime):
    kind, _ = device_properties(runtime.major)
    wanted = kind()
    runtime.note("device", runtime.integer("cudaChooseDevice", byref(wanted)))
    _get_properties(runtime)(byref(wanted), 0)
    runtime.note("device", runtime.integer("cudaChooseDevice", byref(wanted)))
    wanted.major = 1000
    runtime.note("device", runtime.integer("cudaChooseDevice", byref(wanted)))
    runtime.cudaChooseDevice(None, byref(wanted))
    runtime.cudaChooseDevice(byref(c_int()), None)
    runtime.cudaGetLastError()


def flags_of_a_device(runtime):
    runtime.note("at first", runtime.integer("cudaGetDeviceFlags"))
    for flags in (4, 1, 2, 0, 8, 0x10, 0x80, 4):
        runtime.cudaSetDeviceFlags(flags)
        runtime.note("flags", [flags, runtime.integer("cudaGetDeviceFlags")])
    for flags in (3, 5, 6, 7, 0x20, 0x40, 0x100, 0x1000):
        runtime.cudaSetDeviceFlags(flags)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    runtime.cudaGetDeviceFlags(None)
    runtime.cudaDeviceSynchronize()


def a_device_is_initialized(runtime):
    runtime.cudaInitDevice(0, 4, 1)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    runtime.cudaInitDevice(0, 0, 0)
    runtime.cudaInitDevice(0, 1, 0)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    runtime.cudaInitDevice(-1, 0, 0)
    runtime.cudaInitDevice(1000, 0, 0)
    runtime.cudaInitDevice(0, 0, 2)
    runtime.cudaInitDevice(0, 0x1000, 1)
    runtime.cudaInitDevice(0, 3, 1)
    runtime.cudaGetLastError()


def limits(runtime):
    size = c_size_t()
    for limit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 100, -1):
        runtime.note("limit", limit)
        runtime.cudaDeviceGetLimit(byref(size), limit)
    runtime.cudaDeviceGetLimit(None, 0)
    runtime.cudaDeviceSetLimit(0, 4096)
    runtime.cudaDeviceGetLimit(byref(size), 0)
    runtime.note("stack", size.value)
    runtime.cudaDeviceSetLimit(1, 1 << 21)
    runtime.cudaDeviceGetLimit(byref(size), 1)
    runtime.note("printf buffer", size.value)
    runtime.cudaDeviceSetLimit(2, 1 << 24)
    runtime.cudaDeviceGetLimit(byref(size), 2)
    runtime.note("heap", size.value)
    runtime.cudaDeviceSetLimit(5, 64)
    runtime.cudaDeviceSetLimit(6, 0)
    runtime.cudaDeviceSetLimit(100, 1)
    runtime.cudaGetLastError()


def cache_settings(runtime):
    runtime.note("at first", runtime.integer("cudaDeviceGetCacheConfig"))
    for config in (1, 2, 3, 0, 4, -1):
        runtime.cudaDeviceSetCacheConfig(config)
    runtime.cudaDeviceSetCacheConfig(1)
    runtime.note("then", runtime.integer("cudaDeviceGetCacheConfig"))
    runtime.cudaDeviceGetCacheConfig(None)
    runtime.cudaDeviceGetSharedMemConfig(byref(c_int()))
    for config in (1, 2, 0, 3, -1):
        runtime.cudaDeviceSetSharedMemConfig(config)
    runtime.cudaDeviceGetSharedMemConfig(None)
    runtime.cudaCtxResetPersistingL2Cache()
    runtime.cudaGetLastError()


def priorities(runtime):
    least, greatest = c_int(7), c_int(7)
    runtime.cudaDeviceGetStreamPriorityRange(byref(least), byref(greatest))
    runtime.note("least", least.value)
    runtime.note("greatest", greatest.value <= 0)
    runtime.cudaDeviceGetStreamPriorityRange(None, byref(greatest))
    runtime.cudaDeviceGetStreamPriorityRange(byref(least), None)
    runtime.cudaDeviceGetStreamPriorityRange(None, None)


def bus_ids(runtime):
    text = ctypes.create_string_buffer(b"x" * 20)
    runtime.cudaDeviceGetPCIBusId(text, 20, 0)
    runtime.note("characters", len(text.value))
    runtime.note("device", runtime.integer("cudaDeviceGetByPCIBusId", c_char_p(text.value)))
    runtime.cudaDeviceGetPCIBusId(text, 13, 0)
    runtime.note("characters", len(text.value))
    for length, device in ((12, 0), (1, 0), (0, 0), (-1, 0), (20, -1), (20, 1000)):
        runtime.note("length, device", [length, device])
        runtime.cudaDeviceGetPCIBusId(text, length, device)
    runtime.cudaDeviceGetPCIBusId(None, 20, 0)
    device = c_int()
    runtime.cudaDeviceGetByPCIBusId(None, b"0000:00:00.0")
    runtime.cudaDeviceGetByPCIBusId(byref(device), None)
    runtime.cudaDeviceGetByPCIBusId(byref(device), b"nonsense")
    runtime.cudaDeviceGetByPCIBusId(byref(device), b"")
    runtime.cudaDeviceGetByPCIBusId(byref(device), b"ffff:ff:1f.0")


def peers(runtime):
    value = c_int(7)
    runtime.cudaDeviceCanAccessPeer(byref(value), 0, 0)
    runtime.note("itself", value.value)
    runtime.cudaDeviceCanAccessPeer(byref(value), 0, 1000)
    runtime.cudaDeviceCanAccessPeer(byref(value), -1, 0)
    runtime.cudaDeviceCanAccessPeer(None, 0, 0)
    runtime.cudaDeviceEnablePeerAccess(0, 0)
    runtime.cudaDeviceEnablePeerAccess(0, 1)
    runtime.cudaDeviceEnablePeerAccess(-1, 0)
    runtime.cudaDeviceEnablePeerAccess(1000, 1)
    runtime.cudaDeviceDisablePeerAccess(0)
    runtime.cudaDeviceDisablePeerAccess(-1)
    runtime.cudaDeviceDisablePeerAccess(1000)
    for attribute in (1, 2, 3, 4, 0, 100):
        runtime.cudaDeviceGetP2PAttribute(byref(value), attribute, 0, 0)
    runtime.cudaDeviceGetP2PAttribute(byref(value), 1, 0, 1000)
    runtime.cudaDeviceGetP2PAttribute(byref(value), 1, -1, 0)
    runtime.cudaDeviceGetP2PAttribute(None, 1, 0, 0)
    runtime.cudaGetLastError()


def atomics(runtime):
    if runtime.major == 12:
        return
    operations, capabilities = (c_int * 2)(0, 1), (c_uint * 2)()
    runtime.cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0)
    runtime.cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 0, 0)
    runtime.cudaDeviceGetHostAtomicCapabilities(None, operations, 2, 0)
    runtime.cudaDeviceGetHostAtomicCapabilities(capabilities, None, 2, 0)
    runtime.cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 2, -1)
    runtime.cudaDeviceGetHostAtomicCapabilities(capabilities, (c_int * 1)(1000), 1, 0)
    runtime.cudaDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 0)
    runtime.cudaDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 1000)
    runtime.cudaDeviceGetP2PAtomicCapabilities(None, operations, 2, 0, 0)


def linear_textures(runtime):
    width = c_size_t()
    for form in ((32, 0, 0, 0, 2), (8, 8, 0, 0, 1), (16, 16, 16, 16, 0), (16, 0, 0, 0, 2)):
        runtime.cudaDeviceGetTexture1DLinearMaxWidth(byref(width), byref(Channel(*form)), 0)
        runtime.note("elements", width.value >= 1 << 20)
    for form in ((7, 0, 0, 0, 1), (8, 8, 8, 0, 1), (0, 0, 0, 0, 3), (8, 0, 0, 0, 2)):
        runtime.note("format", form)
        runtime.cudaDeviceGetTexture1DLinearMaxWidth(byref(width), byref(Channel(*form)), 0)
    form = Channel(32, 0, 0, 0, 2)
    runtime.cudaDeviceGetTexture1DLinearMaxWidth(None, byref(form), 0)
    runtime.cudaDeviceGetTexture1DLinearMaxWidth(byref(width), None, 0)
    runtime.cudaDeviceGetTexture1DLinearMaxWidth(byref(width), byref(form), -1)
    runtime.cudaGetLastError()


def remote_writes(runtime):
    runtime.note("supported", runtime.integer("cudaDeviceGetAttribute", 117, 0) & 1)
    for target, scope in ((0, 100), (0, 200), (1, 100), (0, 0)):
        runtime.note("target, scope", [target, scope])
        runtime.cudaDeviceFlushGPUDirectRDMAWrites(target, scope)


CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


@CALLBACK
def _notified(_information, _data, _handle):
    pass


def notifications(runtime):
    first, second = c_void_p(), c_void_p()
    runtime.cudaDeviceRegisterAsyncNotification(0, _notified, None, byref(first))
    runtime.cudaDeviceRegisterAsyncNotification(0, _notified, 1, byref(second))
    runtime.note("differ", first.value != second.value)
    runtime.cudaDeviceUnregisterAsyncNotification(0, first)
    runtime.cudaDeviceUnregisterAsyncNotification(0, second)


# NVIDIA's runtime crashes in some of the next five functions, so each function runs in its own
# process.


def a_notification_of_no_device(runtime):
    runtime.cudaDeviceRegisterAsyncNotification(-1, _notified, None, byref(c_void_p()))


def a_notification_without_a_function(runtime):
    runtime.cudaDeviceRegisterAsyncNotification(0, None, None, byref(c_void_p()))


def a_notification_without_a_handle(runtime):
    runtime.cudaDeviceRegisterAsyncNotification(0, _notified, None, None)


def no_notification_is_unregistered(runtime):
    runtime.cudaDeviceUnregisterAsyncNotification(0, None)


def no_notification_of_no_device_is_unregistered(runtime):
    runtime.cudaDeviceUnregisterAsyncNotification(-1, None)


def the_profiler(runtime):
    runtime.cudaProfilerStop()
    runtime.cudaProfilerStart()
    runtime.cudaProfilerStart()
    runtime.cudaProfilerStop()


def tables_for_tools(runtime):
    table = c_void_p(5)
    runtime.cudaGetExportTable(byref(table), (ctypes.c_ubyte * 16)())
    runtime.note("table", table.value)
    runtime.cudaGetExportTable(byref(table), None)
    runtime.cudaGetExportTable(None, (ctypes.c_ubyte * 16)())


def names_of_early_versions(runtime):
    if runtime.major != 12:
        return
    size, config = c_size_t(), c_int()
    runtime.cudaThreadSynchronize()
    runtime.cudaThreadGetLimit(byref(size), 0)
    runtime.cudaThreadGetLimit(None, 0)
    runtime.cudaThreadSetLimit(0, 4096)
    runtime.cudaThreadGetLimit(byref(size), 0)
    runtime.note("stack", size.value)
    runtime.cudaThreadSetCacheConfig(2)
    runtime.cudaThreadGetCacheConfig(byref(config))
    runtime.note("cache", config.value)
    runtime.cudaThreadGetCacheConfig(None)
    number = ctypes.c_double(1.5)
    runtime.cudaSetDoubleForDevice(byref(number))
    runtime.cudaSetDoubleForHost(byref(number))
    runtime.note("number", number.value)
    runtime.cudaSetDoubleForDevice(None)
    runtime.cudaSetDoubleForHost(None)
    runtime.cudaThreadExit()
    runtime.cudaThreadSynchronize()
    runtime.cudaGetLastError()
