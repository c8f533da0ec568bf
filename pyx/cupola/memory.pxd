# cupola/memory.pxd - device memory, and page-locked host memory.

from libc.stdint cimport uint32_t, uint64_t

from cupola.handles cimport cupola_memory, cupola_stream
from cupola.stream cimport Stream

cdef enum:
    PER_THREAD = 2  # the handle of the per-thread default stream

# Counts explicit frees of memory and arrays: while it is unchanged, checked objects stay live.
cdef unsigned long long freed
cdef void note_free() noexcept

cdef class Memory:
    cdef cupola_memory* native  # NULL after the memory was freed
    cdef Stream stream  # the stream on which the memory was allocated; None for host memory
    cdef object owner  # the owner of registered memory
    cdef readonly uint64_t address
    cdef readonly size_t nbytes
    cdef readonly int device_index
    cdef readonly bint pinned  # page-locked host memory
    cdef readonly bint managed  # managed memory
    cdef bint write_protected
    cdef bint quick  # freeing it does not block
    cdef bint lent  # exported as a buffer: the bytes must stay as long as this object
    cdef cupola_memory* kept  # memory that was freed but is exported

    cdef int use(self, cupola_stream* stream) except -1  # work on the stream uses the memory
    cdef int used(self, Stream queue) except -1
    cdef int free(self) except -1
    cdef int copy_host(
        self, object host, object offset, object nbytes, Stream queue, bint complete, bint out
    ) except -1

cdef Memory allocate(int device, size_t nbytes, Stream stream)
cdef Memory allocate_pinned(int device, size_t nbytes, bint write_combined)
cdef Memory allocate_managed(int device, size_t nbytes)
# Page-locks host memory that `owner` keeps alive.
cdef Memory register_memory(
    int device, uint64_t address, size_t nbytes, object owner, bint read_only)

# Copies and fills of addresses, queued on the stream, which must not be None. Sizes are not
# checked. They may wait for the stream, so never call them with the GIL held: a Python function
# that a stream calls needs it. copy_to_device has read pageable memory when it returns.
# copy_to_host has written pageable memory when the stream is done. Page-locked memory is read and
# written in stream order.
cdef int copy_to_device(
    uint64_t to, const void* host, size_t nbytes, Stream stream) except -1 nogil
cdef int copy_to_host(void* host, uint64_t source, size_t nbytes, Stream stream) except -1 nogil
cdef int copy_on_device(
    uint64_t to, uint64_t source, size_t nbytes, Stream stream) except -1 nogil
# Writes the low `width` (1, 2 or 4) bytes of the value `count` times.
cdef int fill_values(
    uint64_t to, uint32_t value, int width, size_t count, Stream stream) except -1 nogil

# The address of a NumPy array's elements, and whether it is page-locked memory.
cdef uint64_t host_address(object host) except? 0
cdef bint is_pinned(uint64_t address) except -1
