# cupola/memory.pxd - a piece of memory: of a device, or page-locked on the host.

from libc.stdint cimport uint32_t, uint64_t

from cupola.handles cimport cupola_memory, cupola_stream
from cupola.stream cimport Stream

cdef enum:
    PER_THREAD = 2  # the handle of a thread's own default stream

# How often memory or an array was freed by hand: while it stays, what was live is live.
cdef unsigned long long freed
cdef void note_free() noexcept

cdef class Memory:
    cdef cupola_memory* native  # NULL once it was freed
    cdef Stream stream  # the one it was allocated on; None for memory of the host
    cdef object owner  # whose memory was registered
    cdef readonly uint64_t address
    cdef readonly size_t nbytes
    cdef readonly int device_index
    cdef readonly bint pinned  # page-locked memory of the host
    cdef readonly bint managed  # host and devices reach it
    cdef bint write_protected
    cdef bint quick  # freeing it waits for nothing
    cdef bint lent  # the host may hold its bytes: they stay till this goes
    cdef cupola_memory* kept  # what was freed and is lent

    cdef int use(self, cupola_stream* stream) except -1  # work on the stream uses it
    cdef int used(self, Stream queue) except -1
    cdef int free(self) except -1
    cdef int copy_host(
        self, object host, object offset, object nbytes, Stream queue, bint complete, bint out
    ) except -1

cdef Memory allocate(int device, size_t nbytes, Stream stream)
cdef Memory allocate_pinned(int device, size_t nbytes, bint write_combined)
cdef Memory allocate_managed(int device, size_t nbytes)
# Host memory which `owner` keeps, page-locked.
cdef Memory register_memory(
    int device, uint64_t address, size_t nbytes, object owner, bint read_only)

# Copies and fills of addresses, queued on the stream, which is not None; without a look at whether
# so much memory is there. All of them may wait for the stream, so never call them with Python's
# lock: a Python function that a stream calls wants it. Pageable memory of the host has been read
# when copy_to_device returns, and is complete once the stream was waited for after copy_to_host;
# what is page-locked is read and written in the stream's order.
cdef int copy_to_device(
    uint64_t to, const void* host, size_t nbytes, Stream stream) except -1 nogil
cdef int copy_to_host(void* host, uint64_t source, size_t nbytes, Stream stream) except -1 nogil
cdef int copy_on_device(
    uint64_t to, uint64_t source, size_t nbytes, Stream stream) except -1 nogil
# `count` times the low 1, 2 or 4 bytes (`width`) of the value.
cdef int fill_values(
    uint64_t to, uint32_t value, int width, size_t count, Stream stream) except -1 nogil
