# cupola/kernel.pxd - a kernel, and how to launch it without a Python object.
#
# From Cython: put each argument into a buffer of buffer_bytes() bytes, then launch_packed():
#
#     cdef Kernel kernel = module["saxpy"]
#     cdef char buffer[64]
#     kernel.put_float(buffer, 0, 2.0)
#     kernel.put_pointer(buffer, 1, x.get_address())
#     ...
#     with nogil:
#         kernel.launch_packed(grid, block, buffer, stream, 0)
#
# launch_packed may wait, where the stream is full or the kernel's code is loaded: never call it
# with Python's lock, which a Python function that a stream calls wants.
#
# Every one checks, and raises cupola's exceptions. Memory that such a launch uses has to be kept
# alive, and told of the stream (Array.used_on) where it was allocated on another one.

from libc.stdint cimport int64_t, uint64_t

from cupola.handles cimport cupola_kernel
from cupola.stream cimport Stream

cdef class Kernel:
    cdef cupola_kernel* native
    cdef object packer  # how its arguments are packed and checked
    cdef object recent_grid, recent_block  # of the last kernel[grid, block]
    cdef unsigned recent[7]  # and its dimensions, as cupola.h has them
    cdef object parameters
    cdef int suggested
    cdef object image  # what its module is made of: the module itself holds its kernels
    cdef readonly int device_index
    cdef readonly str name
    cdef readonly str demangled
    cdef readonly str title

    cdef void* get_handle(self) noexcept nogil  # the driver's CUfunction
    cdef size_t buffer_bytes(self) noexcept nogil
    cdef int put_int(self, void* buffer, size_t index, int64_t value) except -1 nogil
    cdef int put_uint(self, void* buffer, size_t index, uint64_t value) except -1 nogil
    cdef int put_float(self, void* buffer, size_t index, double value) except -1 nogil
    cdef int put_pointer(self, void* buffer, size_t index, uint64_t address) except -1 nogil
    cdef int put_bytes(
        self, void* buffer, size_t index, const void* data, size_t size) except -1 nogil
    # grid and block are x, y, z; the buffer is copied; a stream of None is the current one.
    cdef int launch_packed(
        self, const unsigned* grid, const unsigned* block, const void* buffer, Stream stream,
        unsigned shared) except -1 nogil

# Takes over a reference to a kernel of the cupola.module.Image.
cdef Kernel adopt(cupola_kernel* native, object image)
