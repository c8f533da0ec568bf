"""Calls a CUDA runtime library through ctypes, and writes down what each call returns."""

import ctypes
import functools
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p  # noqa: F401

from driver_abi import PTX

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
LEGACY, PER_THREAD = 1, 2  # stream handles


class Dim3(ctypes.Structure):
    """A grid or a block; passed by value."""

    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Runtime:
    """``runtime.cudaMalloc(byref(p), 16)`` returns the code, and adds it to the transcript.

    Integers are passed as 64 bits. That is right for sizes and handles; for an int parameter the
    calling convention ignores the upper half. A float or a structure that is passed by value needs
    its ctypes type.
    """

    def __init__(self, library, major):
        self.library = ctypes.CDLL(library)
        self.major = major  # 12 or 13: which functions there are, and with which parameters
        self.transcript = []
        self.called = set()

    def __getattr__(self, name):
        if not name.startswith(("cuda", "__cuda")):
            raise AttributeError(name)
        function = getattr(self.library, name)

        def call(*arguments):
            words = [c_uint64(a & 2**64 - 1) if isinstance(a, int) else a for a in arguments]
            code = function(*words)
            self.called.add(name)
            self.transcript.append([name, code])
            return code

        return call

    def note(self, what, value):
        """Add a value that has to be the same with every runtime and driver."""
        self.transcript.append([what, value])

    def text(self, name, *arguments):
        """The result of a function that returns a string."""
        function = getattr(self.library, name)
        function.restype = c_char_p
        self.called.add(name)
        return function(*arguments).decode()

    def handle(self, name, *arguments):
        """The handle or pointer that a function stores through its first parameter; never noted."""
        made = c_void_p()
        getattr(self, name)(byref(made), *arguments)
        return made.value or 0

    def integer(self, name, *arguments):
        """The int that a function stores through its first parameter."""
        made = c_int()
        getattr(self, name)(byref(made), *arguments)
        return made.value

    @functools.cached_property
    def kernels(self):
        """The library of tests/cpu/kernels.ptx."""
        return self.handle("cudaLibraryLoadData", PTX, None, None, 0, None, None, 0)

    def kernel(self, name):
        """A kernel of it, which functions take where programs pass a host function."""
        return self.handle("cudaLibraryGetKernel", self.kernels, name.encode())

    def launch(self, kernel, grid, block, arguments, shared=0, stream=0):
        """cudaLaunchKernel with ctypes values as arguments."""
        pointers = (c_void_p * (len(arguments) + 1))(*[ctypes.addressof(a) for a in arguments])
        grid, block = Dim3(*grid), Dim3(*block)
        return self.cudaLaunchKernel(kernel, grid, block, pointers, shared, stream)

    def ints(self, pointer, count):
        """Copy integers from the device."""
        values = (c_int * count)()
        self.cudaMemcpy(values, pointer, 4 * count, DEVICE_TO_HOST)
        return list(values)

    def upload(self, values):
        """New device memory with these integers."""
        pointer = self.handle("cudaMalloc", 4 * len(values))
        data = (c_int * len(values))(*values)
        self.cudaMemcpy(pointer, data, 4 * len(values), HOST_TO_DEVICE)
        return pointer
