# cupola/launch.pxd - prepared launches, which can be sent without the GIL:
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
    cdef readonly Stream stream  # None: the current stream at each call
    cdef void* vectorcall
    # The fields that each call reads, kept together.
    cdef cupola_kernel* native
    cdef void** pointers  # to each argument in the buffer, which follows them
    cdef char* buffer
    cdef cupola_stream* own  # the handle of `stream`; NULL if `stream` is None
    cdef cupola_stream* told  # the stream that the arrays were last notified of
    cdef unsigned long long seen  # memory.freed when the arrays were last checked
    cdef unsigned dimensions[7]  # cupola_dimensions, and attributes
    cdef bint listed  # whether there are arrays
    cdef bint foreign  # some arguments are memory of other libraries
    cdef bint attributed
    cdef bint replaced  # set_* replaced an argument, which `held` does not contain
    cdef unsigned attributes[6]
    cdef size_t nbytes  # the size of the argument buffer
    cdef list held  # the launch's arguments, kept alive
    cdef list arrays  # cupola.Array and Memory arguments; replaced by a new list, never changed

    # Queues the launch on the stream; None: on the launch's own stream, or the current stream.
    cdef int send(self, Stream stream) except -1
    cdef int note_arrays(self) except -1
    cdef int look(self) except -1

    # Checks and replaces an argument. The caller keeps memory behind an address alive. Only one
    # thread at a time may set and queue.
    cdef int set_int(self, size_t index, int64_t value) except -1 nogil
    cdef int set_uint(self, size_t index, uint64_t value) except -1 nogil
    cdef int set_float(self, size_t index, double value) except -1 nogil
    cdef int set_pointer(self, size_t index, uint64_t address) except -1 nogil
    cdef int set_bytes(self, size_t index, const void* data, size_t size) except -1 nogil
    # Like send(), but it may wait where the stream is full: call it without the GIL. It takes the
    # GIL to notify arrays of a stream, the first time for each stream. It also takes the GIL while
    # a Python function that a stream calls is pending (Stream.launch_host_func, Graph.add_host).
    # Then it waits with the GIL released, also where the caller held it.
    cdef int queue(self, Stream stream) except -1 nogil
