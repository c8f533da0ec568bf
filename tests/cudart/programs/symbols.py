"""Variables of the program: their addresses, and copies from and to them."""

import ctypes
import struct
from ctypes import byref, c_char, c_int, c_size_t, c_ubyte, c_uint64, c_void_p

from driver_abi import PTX

from cudart.runtime import (
    DEFAULT,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    HOST_TO_HOST,
)

# The parts that nvcc's host code has for these symbols.
TABLE, SEVEN, MISSING = (c_char * 64)(), c_int(), c_int()


def _fatbin(ptx):
    """A fatbin of one uncompressed PTX, with the empty options that NVIDIA's tools read."""
    text = ptx + bytes(-len(ptx) % 8)
    entry = struct.pack(
        "<HHIQIIHHIIIQQQQQ", 1, 0x101, 80, len(text), 0, 64, 3, 6, 75, 0, 0, 0x11, 0, 0, 72, 0
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(text)) + entry + text


def _register(runtime, *more):
    """Registers as nvcc's host code does before main."""
    image = ctypes.create_string_buffer(_fatbin(PTX))
    wrapper = (c_uint64 * 3)(1 << 32 | 0x466243B1, ctypes.addressof(image), 0)
    register = getattr(runtime.library, "__cudaRegisterFatBinary")
    register.restype = c_void_p
    handle = c_void_p(register(wrapper))
    for host, name, size, constant in [
        (TABLE, b"table", 64, 0),
        (SEVEN, b"seven", 4, 1),
        *more,
    ]:
        runtime.library["__cudaRegisterVar"](
            handle, byref(host), name, name, 0, c_size_t(size), constant, 0
        )
    getattr(runtime.library, "__cudaRegisterFatBinaryEnd")(handle)
    return image, wrapper, handle  # must live as long as the registration


def addresses(runtime):
    kept = _register(runtime)
    pointer, size = c_void_p(), c_size_t()
    for name, host in [("table", TABLE), ("seven", SEVEN)]:
        pointer.value, size.value = None, 99
        runtime.cudaGetSymbolAddress(byref(pointer), byref(host))
        runtime.cudaGetSymbolSize(byref(size), byref(host))
        runtime.note(name, [pointer.value is not None, size.value])
    found = c_int()
    runtime.cudaGetSymbolAddress(byref(pointer), byref(SEVEN))
    runtime.cudaMemcpy(byref(found), pointer, 4, DEVICE_TO_HOST)
    runtime.note("seven", found.value)
    for wrong in (None, byref(found)):
        runtime.cudaGetSymbolAddress(byref(pointer), wrong)
        runtime.cudaGetSymbolSize(byref(size), wrong)
    runtime.cudaGetSymbolAddress(None, byref(TABLE))
    runtime.cudaGetSymbolSize(None, byref(TABLE))
    del kept


def addresses_after_unregistration(runtime):
    kept, pointer = _register(runtime), c_void_p()
    runtime.cudaGetSymbolAddress(byref(pointer), byref(TABLE))
    getattr(runtime.library, "__cudaUnregisterFatBinary")(kept[2])
    runtime.cudaGetSymbolAddress(byref(pointer), byref(TABLE))


def copies(runtime):
    kept = _register(runtime)
    given, found = (c_ubyte * 64)(*range(64)), (c_ubyte * 64)()
    device = runtime.handle("cudaMalloc", 64)
    stream = runtime.handle("cudaStreamCreate")
    for suffix, last in [("", ()), ("Async", (stream,)), ("_ptds", ()), ("Async_ptsz", (0,))]:
        to = getattr(runtime, "cudaMemcpyToSymbol" + suffix)
        back = getattr(runtime, "cudaMemcpyFromSymbol" + suffix)
        runtime.cudaMemset(device, 9, 64)
        for source, count, offset, kind in [
            (given, 64, 0, HOST_TO_DEVICE),
            (device, 8, 8, DEVICE_TO_DEVICE),
            (given, 8, 32, DEFAULT),
            (given, 0, 64, HOST_TO_DEVICE),
            (given, 0, 65, HOST_TO_DEVICE),
            (given, 65, 0, HOST_TO_DEVICE),
            (given, 8, 60, HOST_TO_DEVICE),
            (given, 8, 2**64 - 4, HOST_TO_DEVICE),
            (given, 8, 0, DEVICE_TO_HOST),
            (given, 8, 0, HOST_TO_HOST),
            (given, 8, 0, 5),
            (None, 8, 0, HOST_TO_DEVICE),
        ]:
            to(byref(TABLE), source, count, offset, kind, *last)
            runtime.cudaDeviceSynchronize()
        for target, count, offset, kind in [
            (found, 64, 0, DEVICE_TO_HOST),
            (device, 8, 32, DEVICE_TO_DEVICE),
            (found, 8, 32, DEFAULT),
            (found, 65, 0, DEVICE_TO_HOST),
            (found, 8, 60, DEVICE_TO_HOST),
            (found, 8, 0, HOST_TO_DEVICE),
            (found, 8, 0, HOST_TO_HOST),
            (found, 8, 0, 5),
            (None, 8, 0, DEVICE_TO_HOST),
        ]:
            back(target, byref(TABLE), count, offset, kind, *last)
            runtime.cudaDeviceSynchronize()
        runtime.note("found", list(found))
        to(None, given, 4, 0, HOST_TO_DEVICE, *last)
        back(found, None, 4, 0, DEVICE_TO_HOST, *last)
        to(byref(SEVEN), given, 4, 0, HOST_TO_DEVICE, *last)
    del kept


def a_variable_that_the_image_lacks(runtime):
    kept = _register(runtime, (MISSING, b"missing", 4, 0))
    pointer, size = c_void_p(), c_size_t(99)
    runtime.cudaGetSymbolAddress(byref(pointer), byref(MISSING))
    runtime.cudaGetSymbolSize(byref(size), byref(MISSING))
    runtime.cudaMemcpyToSymbol(byref(MISSING), byref(size), 4, 0, HOST_TO_DEVICE)
    runtime.cudaGetSymbolSize(byref(size), byref(TABLE))
    runtime.note("size", size.value)
    del kept
