"""Initialisation and devices: who answers before cuInit, and numbers that agree with each other."""

import platform
import re
import shutil
import subprocess
import sys
from ctypes import byref, c_char, c_char_p, c_int, c_size_t, c_ubyte, c_uint

import pytest
from driver_abi import *

from cupola import paths


def attribute(cuda, number, device=0):
    value = c_int()
    cuda.cuDeviceGetAttribute(byref(value), number, device)
    return value.value


def test_nothing_works_before_init(passes):
    passes(
        """
        count = c_int()
        assert cuda.code("cuDeviceGetCount", byref(count)) == NOT_INITIALIZED
        assert cuda.code("cuCtxSynchronize") == NOT_INITIALIZED
        cuda.cuDriverGetVersion(byref(count))
        assert count.value >= 12080
    """,
        start=False,
    )


def test_init_refuses_flags(passes):
    passes("assert cuda.code('cuInit', 1) == INVALID_VALUE", start=False)


def test_version(cuda, own):
    version = c_int()
    cuda.cuDriverGetVersion(byref(version))
    assert version.value == 13000


@pytest.mark.parametrize(
    "name, value",
    [
        ("CUPOLA_CPU_DEVICES", "0"),
        ("CUPOLA_CPU_DEVICES", "two"),
        ("CUPOLA_CPU_THREADS", "-1"),
        ("CUPOLA_CPU_THREADS", "2x"),
        ("CUPOLA_CPU_COMPUTE_CAPABILITY", "9.9"),
        ("CUPOLA_CPU_COMPUTE_CAPABILITY", "new"),
        ("CUPOLA_CPU_LEVEL", "x86-64-v1"),
        ("CUPOLA_CPU_FMA", "2"),
        ("CUPOLA_CPU_INTEGRATED", "yes"),
        ("CUPOLA_CPU_TIMEOUT", "soon"),
        ("CUPOLA_CPU_TIMEOUT", "-1"),
        ("CUPOLA_CPU_TIMEOUT", "nan"),
    ],
)
def test_malformed_settings_are_refused_with_one_line(script, own, name, value):
    done = script("sys.exit(cuda.code('cuInit', 0))", start=False, **{name: value})
    assert done.returncode == INVALID_VALUE
    assert done.stderr.count("\n") == 1 and name in done.stderr and value in done.stderr


def test_a_processor_below_the_lowest_level_is_refused(own):
    """An emulator's core2duo has neither SSE4.2 nor POPCNT."""
    emulator = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if emulator is None or platform.machine() != "x86_64":
        pytest.skip("needs qemu-user, and x86-64")
    code = f"import ctypes, sys; sys.exit(ctypes.CDLL({paths.cpu_driver()!r}).cuInit(0))"
    command = [emulator, "-cpu", "core2duo", sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == INVALID_VALUE, done.stderr
    assert "cupola: the CPU device needs a processor of level x86-64-v2" in done.stderr


def test_device_count_follows_the_setting(passes, own):
    out = passes(
        """
        count = c_int()
        cuda.cuDeviceGetCount(byref(count))
        print(count.value)
    """,
        CUPOLA_CPU_DEVICES="3",
    )
    assert out == "3\n"


@pytest.mark.parametrize(("setting", "major", "minor"), [("7.5", 7, 5), ("11.0", 11, 0)])
def test_capability_follows_the_setting(passes, own, setting, major, minor):
    out = passes(
        """
        major, minor = c_int(), c_int()
        cuda.cuDeviceComputeCapability(byref(major), byref(minor), 0)
        print(major.value, minor.value)
    """,
        CUPOLA_CPU_COMPUTE_CAPABILITY=setting,
    )
    assert out == f"{major} {minor}\n"


def test_name_says_what_it_is(cuda, own):
    name = (c_char * 256)()
    cuda.cuDeviceGetName(name, 256, 0)
    assert b"cupola" in name.value and b"CPU" in name.value


def test_name_is_cut_to_the_buffer(cuda):
    name = (c_char * 4)(b"x", b"x", b"x", b"x")
    cuda.cuDeviceGetName(name, 4, 0)
    assert len(name.value) == 3


def test_wrong_device(cuda):
    out = c_int()
    assert cuda.code("cuDeviceGet", byref(out), 1000) == INVALID_DEVICE
    assert cuda.code("cuDeviceGet", byref(out), -1) == INVALID_DEVICE
    assert cuda.code("cuDeviceGetAttribute", byref(out), 10, 1000) == INVALID_DEVICE


def test_unknown_attribute(cuda):
    assert cuda.code("cuDeviceGetAttribute", byref(c_int()), 100000, 0) == INVALID_VALUE
    assert cuda.code("cuDeviceGetAttribute", byref(c_int()), 0, 0) == INVALID_VALUE


def test_null_result(cuda):
    assert cuda.code("cuDeviceGetCount", c_void_p()) == INVALID_VALUE


def test_attributes_agree(cuda):
    assert attribute(cuda, 10) == 32  # warp size
    assert attribute(cuda, 1) == 1024  # threads a block
    assert attribute(cuda, 39) % attribute(cuda, 10) == 0  # threads a multiprocessor
    assert attribute(cuda, 97) >= attribute(cuda, 8)  # shared: opt-in, default
    assert attribute(cuda, 81) >= attribute(cuda, 97) + attribute(cuda, 111)
    assert attribute(cuda, 41) == 1  # unified addressing
    assert attribute(cuda, 115) == 1  # memory pools
    major, minor = c_int(), c_int()
    cuda.cuDeviceComputeCapability(byref(major), byref(minor), 0)
    assert (major.value, minor.value) == (attribute(cuda, 75), attribute(cuda, 76))


def test_total_memory_is_what_the_context_sees(cuda):
    total, free, seen = c_size_t(), c_size_t(), c_size_t()
    cuda.cuDeviceTotalMem_v2(byref(total), 0)
    cuda.cuMemGetInfo_v2(byref(free), byref(seen))
    assert seen.value == total.value and 0 < free.value <= total.value


def test_pci_bus_id_leads_back(cuda):
    text, device = (c_char * 32)(), c_int(-1)
    cuda.cuDeviceGetPCIBusId(text, 32, 0)
    assert re.fullmatch(rb"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9]", text.value)
    cuda.cuDeviceGetByPCIBusId(byref(device), text)
    assert device.value == 0
    assert cuda.code("cuDeviceGetByPCIBusId", byref(device), b"0000:7E:1E.7") == INVALID_DEVICE


def test_a_pci_bus_id_is_not_cut_off(cuda):
    text = (c_char * 32)()
    for room in (12, 1, 0, -1):
        assert cuda.code("cuDeviceGetPCIBusId", text, room, 0) == INVALID_VALUE
    cuda.cuDeviceGetPCIBusId(text, 13, 0)
    assert len(text.value) == 12


def test_notifications_are_registered(cuda):
    callback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)(lambda *_: None)
    first, second = c_void_p(), c_void_p()
    cuda.cuDeviceRegisterAsyncNotification(0, callback, None, byref(first))
    cuda.cuDeviceRegisterAsyncNotification(0, callback, None, byref(second))
    assert first.value != second.value
    cuda.cuDeviceUnregisterAsyncNotification(0, first)
    cuda.cuDeviceUnregisterAsyncNotification(0, second)


def test_wrong_notifications_are_refused(cuda, own):
    callback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)(lambda *_: None)
    handle = c_void_p()
    register, unregister = (
        "cuDeviceRegisterAsyncNotification",
        "cuDeviceUnregisterAsyncNotification",
    )
    assert cuda.code(register, 0, None, None, byref(handle)) == INVALID_VALUE
    assert cuda.code(register, 0, callback, None, None) == INVALID_VALUE
    assert cuda.code(register, 1000, callback, None, byref(handle)) == INVALID_DEVICE
    assert cuda.code(unregister, 0, None) == INVALID_VALUE
    cuda.cuDeviceRegisterAsyncNotification(0, callback, None, byref(handle))
    cuda.cuDeviceUnregisterAsyncNotification(0, handle)
    assert cuda.code(unregister, 0, handle) == INVALID_VALUE


def test_atomics_on_the_memory_of_the_host(cuda, own):
    operations, found = (c_int * 13)(*range(13)), (c_uint * 13)()
    get = "cuDeviceGetHostAtomicCapabilities"
    cuda.cuDeviceGetHostAtomicCapabilities(found, operations, 13, 0)
    assert all(found[:11]) and found[9] & 32  # cas.b128
    assert found[11:] == [0, 0]  # float minimum and maximum
    assert cuda.code(get, found, (c_int * 1)(13), 1, 0) == INVALID_VALUE
    assert cuda.code(get, found, (c_int * 1)(-1), 1, 0) == INVALID_VALUE
    assert cuda.code(get, found, operations, 0, 0) == INVALID_VALUE
    assert cuda.code(get, None, operations, 13, 0) == INVALID_VALUE
    assert cuda.code(get, found, None, 13, 0) == INVALID_VALUE
    assert cuda.code(get, found, operations, 13, 1000) == INVALID_DEVICE


def test_atomics_on_the_memory_of_a_peer(passes, own):
    passes(
        """
        import ctypes
        operations, found = (ctypes.c_int * 2)(0, 9), (ctypes.c_uint * 2)()
        get = "cuDeviceGetP2PAtomicCapabilities"
        cuda.cuDeviceGetP2PAtomicCapabilities(found, operations, 2, 0, 1)
        assert all(found)
        assert cuda.code(get, found, operations, 2, 0, 0) == INVALID_DEVICE
        assert cuda.code(get, found, operations, 2, 0, 2) == INVALID_DEVICE
        assert cuda.code(get, found, operations, 0, 0, 1) == INVALID_VALUE
    """,
        CUPOLA_CPU_DEVICES="2",
    )


def test_uuids_differ_between_devices(passes, own):
    passes(
        """
        import ctypes
        a, b, c = ((ctypes.c_ubyte * 16)() for _ in range(3))
        cuda.cuDeviceGetUuid(a, 0)
        cuda.cuDeviceGetUuid_v2(b, 1)
        cuda.cuDeviceGetUuid_v2(c, 0)
        assert bytes(a) == bytes(c) != bytes(b)
    """,
        CUPOLA_CPU_DEVICES="2",
    )


def test_luid_is_not_supported(cuda, own):
    luid = (c_ubyte * 8)()
    assert cuda.code("cuDeviceGetLuid", luid, byref(c_uint()), 0) == NOT_SUPPORTED


def test_peers(passes, own):
    passes(
        """
        can = c_int()
        cuda.cuDeviceCanAccessPeer(byref(can), 0, 1)
        assert can.value == 1
        cuda.cuDeviceCanAccessPeer(byref(can), 0, 0)
        assert can.value == 0
        other = c_void_p()
        cuda.cuDevicePrimaryCtxRetain(byref(other), 1)
        cuda.cuCtxEnablePeerAccess(other, 0)
        assert cuda.code("cuCtxEnablePeerAccess", other, 0) == 704
        cuda.cuCtxDisablePeerAccess(other)
        assert cuda.code("cuCtxDisablePeerAccess", other) == 705
    """,
        CUPOLA_CPU_DEVICES="2",
    )


@pytest.mark.parametrize(
    "code, name",
    [
        (0, b"CUDA_SUCCESS"),
        (1, b"CUDA_ERROR_INVALID_VALUE"),
        (218, b"CUDA_ERROR_INVALID_PTX"),
        (999, b"CUDA_ERROR_UNKNOWN"),
    ],
)
def test_error_names(cuda, code, name):
    text = c_char_p()
    cuda.cuGetErrorName(code, byref(text))
    assert text.value == name
    cuda.cuGetErrorString(code, byref(text))
    assert text.value


def test_no_such_error(cuda):
    text = c_char_p(b"before")
    assert cuda.code("cuGetErrorName", 123456, byref(text)) == INVALID_VALUE
    assert text.value is None
