"""Loads PTX and runs its kernels; records each call of a test (recording.py)."""

import ctypes
import os
import pathlib
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import driver_abi
import numpy as np
from driver_abi import DriverError

# Kernels with more bytes of dynamic shared memory need an attribute.
ALWAYS_ALLOWED, MAX_DYNAMIC_SHARED = 48 << 10, 8


class Driver(driver_abi.Driver):
    """The initialised driver, the primary context of device 0 current."""

    def __init__(self):
        super().__init__()
        self.seen = None  # the running test's recording.Seen
        self.device, self.context = c_int(0), self.start()

    def call(self, name, *arguments):
        if self.seen is not None:
            self.seen.trace.call(name, arguments)
        super().call(name, *arguments)
        if self.seen is not None:
            self.seen.trace.made(name, arguments)
            if name == "cuMemcpyDtoH_v2":
                into, _, size = arguments
                self.seen.reads(ctypes.string_at(into.value, size.value) if size.value else b"")

    def name(self):
        """The name of the device."""
        text = ctypes.create_string_buffer(100)
        self.cuDeviceGetName(text, c_int(100), self.device)
        return text.value.decode()

    def version(self):
        """The version of NVIDIA's kernel module, or the newest CUDA that the driver supports."""
        loaded = pathlib.Path("/sys/module/nvidia/version")
        if self.on_hardware and loaded.exists():
            return loaded.read_text().strip()
        number = c_int()
        self.cuDriverGetVersion(byref(number))
        return f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"

    def skip_on_hardware(self, reason):
        """Skips the test on NVIDIA's driver; then no recording of it exists."""
        if self.on_hardware:
            import pytest  # child processes need no pytest

            pytest.skip(reason)
        self.seen.why = f"not run on hardware: {reason}"

    def own_layout(self, data, meaning):
        """Marks bytes whose layout is the driver's own; the recording keys them by meaning."""
        if self.seen is not None:
            self.seen.trace.stands_for(data, meaning)
        return data

    def make_current(self):
        self.cuCtxSetCurrent(self.context)

    def reset(self):
        """Resets the context, which a fault has destroyed."""
        self.library.cuDevicePrimaryCtxReset_v2(self.device)
        self.cuDevicePrimaryCtxRetain(byref(self.context), self.device)
        self.make_current()

    def load(self, text, level=4):
        """Loads PTX, or machine code as bytes, at an optimisation level of the JIT compiler."""
        log = ctypes.create_string_buffer(8192)
        # CU_JIT_ERROR_LOG_BUFFER, its size, CU_JIT_OPTIMIZATION_LEVEL
        options = (c_int * 3)(5, 6, 7)
        values = (c_void_p * 3)(ctypes.addressof(log), 8192, level)
        module = c_void_p()
        data = ctypes.create_string_buffer(text if isinstance(text, bytes) else text.encode())
        code = self.library.cuModuleLoadDataEx(byref(module), data, c_uint(3), options, values)
        if code:
            raise DriverError("cuModuleLoadDataEx", code, log.value.decode(errors="replace"))
        return Module(self, module, text)


class Module:
    def __init__(self, driver, handle, text):
        self.driver, self.handle, self.text = driver, handle, text

    def unload(self):
        self.driver.cuModuleUnload(self.handle)

    def function(self, name):
        function = c_void_p()
        self.driver.cuModuleGetFunction(byref(function), self.handle, name.encode())
        if self.driver.seen is not None:
            self.driver.seen.launches(self.text, name)
        return function

    def launch(self, name, grid, block, arguments, shared=0):
        """Launches and waits; arguments are ctypes values or NumPy scalars."""
        grid, block = [(*(d if isinstance(d, tuple) else (d,)), 1, 1)[:3] for d in (grid, block)]
        held = [
            ctypes.create_string_buffer(bytes(a), len(bytes(a)))
            if not isinstance(a, np.generic)
            else ctypes.create_string_buffer(a.tobytes(), a.nbytes)
            for a in arguments
        ]
        pointers = (c_void_p * max(len(held), 1))(*[ctypes.addressof(h) for h in held])
        function = self.function(name)
        if shared > ALWAYS_ALLOWED:
            self.driver.cuFuncSetAttribute(function, c_int(MAX_DYNAMIC_SHARED), c_int(shared))
        if self.driver.seen is not None:
            for a in arguments:
                self.driver.seen.trace.parameter(a)
        self.driver.cuLaunchKernel(
            function,
            *map(c_uint, (*grid, *block, shared)),
            c_void_p(),
            pointers,
            c_void_p(),
        )
        self.driver.cuCtxSynchronize()

    def run(self, name, grid, block, arguments, shared=0):
        """Launches with NumPy arrays, which are copied to the device and back in place."""
        memory, passed = [], []
        try:
            for a in arguments:
                if not isinstance(a, np.ndarray):
                    passed.append(a)
                    continue
                at = c_uint64()
                self.driver.cuMemAlloc_v2(byref(at), c_size_t(max(a.nbytes, 1)))
                memory.append((at, a))
                self.driver.cuMemcpyHtoD_v2(at, c_void_p(a.ctypes.data), c_size_t(a.nbytes))
                passed.append(at)
            self.launch(name, grid, block, passed, shared)
            for at, a in memory:
                self.driver.cuMemcpyDtoH_v2(c_void_p(a.ctypes.data), at, c_size_t(a.nbytes))
        finally:
            for at, _ in memory:
                self.driver.library.cuMemFree_v2(at)


CHILD = """
import sys, numpy as np
from driver_abi import DriverError
from ptx.driver import Driver
module = Driver().load(sys.stdin.read())
try:
    {call}
except DriverError as e:
    print("code", e.code)
"""


def in_child(text, call):
    """Calls a function on a module of the text in a child process.

    A fault destroys the contexts of its process on hardware, and a kernel prints to stdout.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run(
        [sys.executable, "-c", CHILD.format(call=call)],
        input=text,
        cwd=here,
        text=True,
        capture_output=True,
    )
