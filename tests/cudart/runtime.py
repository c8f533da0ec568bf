"""Calls a CUDA runtime library through ctypes, and writes down what each call returns."""

import ctypes
import functools
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from driver_abi import PTX

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
LEGACY, PER_THREAD = 1, 2  # stream handles


class Dim3(ctypes.Structure):
    """A grid or a block; passed by value."""

    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def fatbin(*texts, options=b""):
    """A fatbin of PTX texts, as nvcc writes them without compression, with options for ptxas."""
    entries = b""
    for text in texts:
        text += bytes(-len(text) % 8)
        # The entry's header, its place and size of the options, the options.
        size = -(-(0x48 + len(options)) // 16) * 16
        head = struct.pack(
            "<HHIQIIHHIIIQQQ", 1, 0x101, size, len(text), 0, 0x40, 3, 6, 75, 0, 0, 0x11, 0, 0
        )
        head += struct.pack("<II", 0x48, len(options)) + options
        entries += head + bytes(size - len(head)) + text
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


class Image:
    """Code that is registered as nvcc's host code does it before main.

    ``image.host[name]`` is what the program has for a kernel or variable: an address of its own.
    That of a managed variable is the address of its pointer, which the runtime sets. Variables are
    (name, bytes, constant), managed ones (name, bytes). `linked` are fatbins to be linked, as of
    nvcc -rdc=true.
    """

    def __init__(
        self,
        runtime,
        code,
        functions=(),
        variables=(),
        managed=(),
        linked=(),
        magic=0x466243B1,
    ):
        self.runtime, self.host, self.kept = runtime, {}, []
        runtime.kept.append(self)
        parts = [self._keep(part) for part in linked]
        self.parts = (c_uint64 * (len(parts) + 1))(*parts)
        last = ctypes.addressof(self.parts) if parts else 0
        version = 2 if parts else 1
        self.wrapper = (c_uint64 * 3)(magic | version << 32, self._keep(code), last)
        self.handle = c_void_p(self._call("RegisterFatBinary", self.wrapper))
        for name in functions:
            self.host[name] = self._keep(bytes(64))
            self._register("Function", name, c_int(-1), *[c_void_p()] * 5)
        for name, size, constant in variables:
            self.host[name] = self._keep(bytes(64))
            self._register("Var", name, 0, c_size_t(size), c_int(constant), 0)
        for name, size in managed:
            self.host[name] = self._keep(bytes(8))
            self._register("ManagedVar", name, 0, c_size_t(size), 0, 0)
        self._call("RegisterFatBinaryEnd", self.handle)

    def initialize(self):
        """Load the image, as host code does before it first uses a managed variable."""
        self._call("InitModule", self.handle)

    def unregister(self):
        self._call("UnregisterFatBinary", self.handle)

    def _call(self, name, *arguments):
        function = getattr(self.runtime.library, "__cuda" + name)
        function.restype = c_void_p
        self.runtime.called.add("__cuda" + name)
        return function(*arguments)

    def _keep(self, data):
        self.kept.append(ctypes.create_string_buffer(data))
        return ctypes.addressof(self.kept[-1])

    def _register(self, what, name, *rest):
        text = c_void_p(self._keep(name.encode()))
        self._call("Register" + what, self.handle, c_void_p(self.host[name]), text, text, *rest)


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
        self.kept = []  # registered images

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

    @functools.cached_property
    def registered(self):
        """The host addresses of the kernels of tests/cpu/kernels.ptx."""
        names = "empty", "store", "add1", "narrow", "exact", "mirror"
        return Image(self, fatbin(PTX), names).host

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
