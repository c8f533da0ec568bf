"""Calls the driver ABI through ctypes and raises DriverError for an unexpected result.

The library is cupola's CPU device, or the one that CUPOLA_TEST_DRIVER names. The same tests run on
NVIDIA's driver with ``CUPOLA_TEST_DRIVER=libcuda.so.1``.
"""

import ctypes
import functools
import os
import pathlib
import time
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

PTX = (pathlib.Path(__file__).parent / "cpu" / "kernels.ptx").read_bytes() + b"\0"

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
INVALID_DEVICE, INVALID_IMAGE, INVALID_CONTEXT, NO_BINARY_FOR_GPU = 101, 200, 201, 209
INVALID_PTX, UNSUPPORTED_PTX_VERSION, INVALID_HANDLE = 218, 222, 400
MAP_FAILED, INVALID_SOURCE, FILE_NOT_FOUND, ILLEGAL_STATE = 205, 300, 301, 401
NOT_FOUND, NOT_READY, ILLEGAL_ADDRESS, LAUNCH_OUT_OF_RESOURCES = 500, 600, 700, 701
LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT = 702, 709, 710
ALREADY_REGISTERED, NOT_REGISTERED = 712, 713
MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, LAUNCH_FAILED = 716, 717, 719
NOT_PERMITTED, NOT_SUPPORTED, GRAPH_EXEC_UPDATE_FAILURE, UNKNOWN = 800, 801, 910, 999

LEGACY, PER_THREAD = 1, 2  # stream handles
NON_BLOCKING = 1

HostFunction = ctypes.CFUNCTYPE(None, c_void_p)
Callback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)


def library_path():
    named = os.environ.get("CUPOLA_TEST_DRIVER")
    if named:
        return named
    import cupola.paths  # recording on a GPU works without cupola

    return os.fspath(cupola.paths.cpu_driver())


class DriverError(AssertionError):
    """A driver call returned an error that the test did not expect."""

    def __init__(self, call, code, log=""):
        super().__init__(f"{call} returned {code}" + (f"\n{log}" if log else ""))
        self.code, self.log = code, log


class Driver:
    """``driver.cuFoo(...)`` must succeed; ``driver.code("cuFoo", ...)`` returns the result code.

    Integers are passed as 64 bits. That is right for sizes and handles; for an int parameter the
    calling convention ignores the upper half.
    """

    def __init__(self):
        self.library = ctypes.CDLL(library_path())

    def code(self, name, *arguments):
        return getattr(self.library, name)(
            *(c_uint64(a & (2**64 - 1)) if isinstance(a, int) else a for a in arguments)
        )

    def call(self, name, *arguments):
        code = self.code(name, *arguments)
        if code != SUCCESS:
            raise DriverError(name, code)

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return functools.partial(self.call, name)

    @property
    def on_hardware(self):
        return not hasattr(self.library, "cupola_cpu_device")

    # -- creating objects -----------------------------------------------------------------

    def start(self, device=0):
        self.cuInit(0)
        return self.primary(device)

    def primary(self, device=0):
        context = c_void_p()
        self.cuDevicePrimaryCtxRetain(byref(context), device)
        self.cuCtxSetCurrent(context)
        return context

    def alloc(self, size):
        pointer = c_uint64()
        self.cuMemAlloc_v2(byref(pointer), size)
        return pointer.value

    def pinned(self, size):
        pointer = c_void_p()
        self.cuMemHostAlloc(byref(pointer), size, 0)
        ctypes.memset(pointer.value, 0, size)
        return pointer.value

    def stream(self, flags=0):
        stream = c_void_p()
        self.cuStreamCreate(byref(stream), flags)
        return stream.value

    def event(self, flags=0):
        event = c_void_p()
        self.cuEventCreate(byref(event), flags)
        return event.value

    def module(self, ptx=PTX):
        module = c_void_p()
        self.cuModuleLoadData(byref(module), ptx)
        return module.value

    def function(self, module, name):
        function = c_void_p()
        self.cuModuleGetFunction(byref(function), module, name.encode())
        return function.value

    def kernels(self, module):
        count = c_uint()
        self.cuModuleGetFunctionCount(byref(count), module)
        functions = (c_void_p * count.value)()
        self.cuModuleEnumerateFunctions(functions, count.value, module)
        return list(functions)

    # -- work -----------------------------------------------------------------------------

    def launch_code(self, function, grid, block, *arguments, stream=0, shared=0):
        grid = (*grid, 1, 1)[:3] if isinstance(grid, tuple) else (grid, 1, 1)
        block = (*block, 1, 1)[:3] if isinstance(block, tuple) else (block, 1, 1)
        pointers = (c_void_p * max(1, len(arguments)))(
            *(ctypes.cast(byref(a), c_void_p) for a in arguments)
        )
        return self.code(
            "cuLaunchKernel", function, *grid, *block, shared, stream, pointers, c_void_p()
        )

    def launch(self, *arguments, **keywords):
        code = self.launch_code(*arguments, **keywords)
        if code != SUCCESS:
            raise DriverError("cuLaunchKernel", code)

    def read(self, pointer, count, kind=c_uint):
        values = (kind * count)()
        self.cuMemcpyDtoH_v2(values, pointer, ctypes.sizeof(values))
        return list(values)


def word(address):
    """A 32-bit word of host memory, to read and to set."""
    return c_uint.from_address(address)


def eventually(ready, seconds=20):
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.001)


__all__ = [name for name in dir() if not name.startswith("_")]
assert c_float and c_size_t
