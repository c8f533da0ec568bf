# examples/ptx_by_hand/driver.py - a small wrapper of the CUDA driver API, by ctypes alone.
"""Enough of the driver API to load a PTX file and launch its kernels; no package is needed.

The names have no version suffix, and the library is whichever libcuda.so the loader finds:
NVIDIA's, or cupola's CPU device,

LD_LIBRARY_PATH=$(dirname $(python -m cupola paths --cpu-driver)) python driver.py
"""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

cuda = ctypes.CDLL("libcuda.so")

# A device address is a number, not a pointer of this process: c_uint64. Handles (contexts, modules,
# functions, streams) are opaque pointers: c_void_p. Results are passed by reference.
PROTOTYPES = {
    "cuInit": [c_uint],
    "cuDeviceGetCount": [c_void_p],
    "cuDeviceGet": [c_void_p, c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuCtxCreate": [c_void_p, c_uint, c_int],
    "cuCtxSynchronize": [],
    "cuCtxDestroy": [c_void_p],
    "cuModuleLoad": [c_void_p, c_char_p],
    "cuModuleGetFunction": [c_void_p, c_void_p, c_char_p],
    "cuMemAlloc": [c_void_p, c_size_t],
    "cuMemFree": [c_uint64],
    "cuMemcpyHtoD": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH": [c_void_p, c_uint64, c_size_t],
    "cuStreamCreate": [c_void_p, c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamDestroy": [c_void_p],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p],
    "cuGetErrorName": [c_int, c_void_p],
}
for name, argtypes in PROTOTYPES.items():
    getattr(cuda, name).argtypes = argtypes
    getattr(cuda, name).restype = c_int  # CUresult, 0 is success


def call(name, *arguments):
    """Call the driver; its error code becomes an exception."""
    code = getattr(cuda, name)(*arguments)
    if code:
        text = c_char_p()
        cuda.cuGetErrorName(code, byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'unknown').decode()} ({code})")


class Context:
    """A context on a device; everything below belongs to it, and goes with it."""

    def __init__(self, ordinal=0):
        call("cuInit", 0)  # before any other call
        count, device = c_int(), c_int()
        call("cuDeviceGetCount", byref(count))
        if ordinal >= count.value:
            raise RuntimeError(f"there is no device {ordinal}: the driver has {count.value}")
        call("cuDeviceGet", byref(device), ordinal)
        text = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", text, len(text), device)
        self.name = text.value.decode()
        self.handle = c_void_p()
        call("cuCtxCreate", byref(self.handle), 0, device)  # now current in this thread

    def synchronize(self):
        """Wait for all that was queued: launches return before their kernels have run."""
        call("cuCtxSynchronize")

    def close(self):
        """Free what is left. A process that ends does this as well."""
        call("cuCtxDestroy", self.handle)


class Module:
    """A PTX file; the driver compiles it for the device."""

    def __init__(self, path):
        self.handle = c_void_p()
        call("cuModuleLoad", byref(self.handle), str(path).encode())

    def function(self, name):
        """The kernel of that name, as the PTX spells it."""
        function = c_void_p()
        call("cuModuleGetFunction", byref(function), self.handle, name.encode())
        return function


class Memory:
    """Bytes on the device."""

    def __init__(self, nbytes):
        self.address = c_uint64()  # all 64 bits are 0 before the driver writes
        call("cuMemAlloc", byref(self.address), nbytes)

    def set(self, host):
        """Copy a contiguous NumPy array in."""
        call("cuMemcpyHtoD", self.address, host.ctypes.data, host.nbytes)

    def get(self, host):
        """Copy out into a contiguous NumPy array; waits for the kernels before it."""
        call("cuMemcpyDtoH", host.ctypes.data, self.address, host.nbytes)

    def free(self):
        """Give it back."""
        call("cuMemFree", self.address)


class Stream:
    """A queue of work: what is in one runs in order, what is in several may overlap."""

    def __init__(self):
        self.handle = c_void_p()
        call("cuStreamCreate", byref(self.handle), 0)

    def synchronize(self):
        """Wait for what is in this queue."""
        call("cuStreamSynchronize", self.handle)

    def close(self):
        """The queue ends when what is in it is done."""
        call("cuStreamDestroy", self.handle)


def launch(function, grid, block, arguments, shared=0, stream=None):
    """Queue a kernel.

    Each argument is a ctypes object of exactly the type the kernel declares: the driver copies as
    many bytes as the parameter has from where the pointer leads, and checks nothing.
    """
    pointers = (c_void_p * len(arguments))(*map(ctypes.addressof, arguments))  # void**
    handle = stream.handle if stream else None
    call("cuLaunchKernel", function, *grid, *block, shared, handle, pointers, None)


if __name__ == "__main__":
    import pathlib

    import numpy as np

    n = 512
    context = Context()
    function = Module(pathlib.Path(__file__).with_name("mandelbrot.ptx")).function("mandelbrot")
    lattice = np.linspace(-2, 2, n, dtype=np.float32)
    graph = np.empty((n, n), np.float32)
    points, picture = Memory(lattice.nbytes), Memory(graph.nbytes)
    points.set(lattice)
    stream = Stream()
    arguments = [points.address, picture.address, c_int(256), ctypes.c_float(4), c_int(n)]
    launch(function, (n * n // 256, 1, 1), (256, 1, 1), arguments, 10_000, stream)
    stream.synchronize()
    picture.get(graph)
    print(f"{context.name}: {int(graph.sum())} of {n * n} points are inside")
    stream.close()
    points.free()
    picture.free()
    context.close()
