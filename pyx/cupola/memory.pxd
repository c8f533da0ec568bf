# cupola/memory.pxd - a piece of memory: of a device, or page-locked on the host.

from libc.stdint cimport uint64_t

from cupola.abi cimport cupola_abi_1
from cupola.handles cimport cupola_memory, cupola_stream
from cupola.stream cimport Stream

cdef class Memory:
    cdef cupola_memory* native  # NULL once it was freed
    cdef Stream stream  # the one it was allocated on; None for page-locked memory
    cdef readonly uint64_t address
    cdef readonly size_t nbytes
    cdef readonly int device_index
    cdef readonly bint pinned

    cdef int use(self, cupola_stream* stream) except -1  # work on the stream uses it
    cdef int free(self) except -1

cdef Memory allocate(int device, size_t nbytes, Stream stream)
cdef Memory allocate_pinned(int device, size_t nbytes)
