# cython: language_level=3, boundscheck=False, wraparound=False
# benchmarks/extension.pyx - launches from a module of another project, for bench_extension.py.
from libc.stdint cimport uint64_t

from cupola.driver cimport CUfunction, CUstream, cuLaunchKernel
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch
from cupola.stream cimport Stream


def queue(Launch launch, Stream stream, int count):
    """A launch that was packed and checked once."""
    cdef int i
    with nogil:
        for i in range(count):
            launch.queue(stream)


def queue_changed(Launch launch, Stream stream, int count):
    """The same, with another number each time."""
    cdef int i
    with nogil:
        for i in range(count):
            launch.set_float(0, i)
            launch.queue(stream)


def packed(
    Kernel kernel, uint64_t x, uint64_t y, uint64_t out, uint64_t n, Stream stream, int count
):
    """All arguments packed and checked each time, into a buffer on the stack."""
    cdef unsigned[3] grid = [1, 1, 1]
    cdef unsigned[3] block = [32, 1, 1]
    cdef char[64] buffer
    cdef int i
    assert kernel.buffer_bytes() <= sizeof(buffer)
    with nogil:
        for i in range(count):
            kernel.put_float(buffer, 0, i)
            kernel.put_pointer(buffer, 1, x)
            kernel.put_pointer(buffer, 2, y)
            kernel.put_pointer(buffer, 3, out)
            kernel.put_uint(buffer, 4, n)
            kernel.launch_packed(grid, block, buffer, stream, 0)


def by_driver(
    Kernel kernel, uint64_t x, uint64_t y, uint64_t out, uint64_t n, Stream stream, int count
):
    """The driver's own function."""
    cdef CUfunction function = <CUfunction>kernel.get_handle()
    cdef CUstream queue = <CUstream>stream.get_handle()
    cdef float a = 2
    cdef void** arguments = [&a, &x, &y, &out, &n]
    cdef int i
    with nogil:
        for i in range(count):
            if cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, queue, arguments, NULL):
                break
