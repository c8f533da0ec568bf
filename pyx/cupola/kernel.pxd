# cupola/kernel.pxd - kernels, and launches without Python objects.
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
# launch_packed may wait where the stream is full or the kernel's code has to be loaded. Never call
# it with the GIL held: a Python function that a stream calls needs the GIL.
#
# Each function checks its arguments and raises cupola's exceptions. Keep the memory that such a
# launch uses alive, and call Array.used_on where it was allocated on another stream.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from cupola._shape cimport RecentShape
from cupola.handles cimport cupola_kernel
from cupola.stream cimport Stream

cdef class Kernel:
    cdef cupola_kernel* native
    cdef PyObject* packer  # the Signature that packs its arguments; read it by `packer_in`
    cdef RecentShape recent  # of the last kernel[grid, block]
    cdef object parameters
    cdef int suggested
    cdef object image  # its module's image; a reference to the module would be a cycle
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
    # grid and block are x, y, z; the buffer is copied; a stream of None is the current stream.
    cdef int launch_packed(
        self, const unsigned* grid, const unsigned* block, const void* buffer, Stream stream,
        unsigned shared) except -1 nogil

# The Signature that packs its arguments. A declaration replaces it while other threads launch.
cdef object packer_in(Kernel kernel)
# Wraps a kernel of the cupola.module.Image and takes over the caller's reference.
cdef Kernel adopt(cupola_kernel* native, object image)
