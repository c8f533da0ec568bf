# cupola/launch.pxd - a launch that was packed once, and how to send it without Python's lock:
#
#     cdef Launch launch = kernel.prepare(grid, block, 2.0, x, y, out, n)
#     with nogil:
#         for step in range(steps):
#             launch.set_int(5, step)
#             launch.queue(None)

from libc.stdint cimport int64_t, uint64_t

from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream

cdef class Launch:
    cdef readonly Kernel kernel
    cdef readonly Stream stream  # None: the current one when it is sent
    cdef void* vectorcall
    # What each call looks at, beside each other.
    cdef cupola_kernel* native
    cdef void** pointers  # to each argument in the buffer, which lies behind them
    cdef char* buffer
    cdef cupola_stream* own  # of `stream`; NULL where that is None
    cdef cupola_stream* told  # the stream which the arrays know to be used on
    cdef unsigned long long seen  # memory.freed when the arrays were found live
    cdef unsigned dimensions[7]  # and attributes, as cupola.h has them
    cdef bint listed  # there are arrays
    cdef bint foreign  # some of its arguments are memory that is not cupola's
    cdef bint attributed
    cdef bint replaced  # by set_*, of which `held` knows nothing
    cdef unsigned attributes[6]
    cdef size_t nbytes  # of the buffer
    cdef list held  # its arguments, kept alive
    cdef list arrays  # those of them that are a cupola.Array or Memory; replaced, never changed

    # Queues it on the stream; None: on its own, or on the current one.
    cdef int send(self, Stream stream) except -1
    cdef int note_arrays(self) except -1
    cdef int look(self) except -1

    # Replaces an argument, which is checked. What an address leads to is the caller's to keep
    # alive. One thread at a time may set and queue.
    cdef int set_int(self, size_t index, int64_t value) except -1 nogil
    cdef int set_uint(self, size_t index, uint64_t value) except -1 nogil
    cdef int set_float(self, size_t index, double value) except -1 nogil
    cdef int set_pointer(self, size_t index, uint64_t address) except -1 nogil
    cdef int set_bytes(self, size_t index, const void* data, size_t size) except -1 nogil
    # As send(), and may wait where the stream is full: call it without the GIL. It takes the GIL
    # where an array has to note a stream, the first time on each. It takes it also while a Python
    # function that a stream calls has yet to return (Stream.launch_host_func, Graph.add_host).
    # Then it waits as a call from Python does: no thread holds the GIL, even if the caller did.
    cdef int queue(self, Stream stream) except -1 nogil
