# cupola/launch.pxd - a launch that was packed once.

from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream

cdef class Launch:
    cdef readonly Kernel kernel
    cdef readonly Stream stream  # None: the current one when it is sent
    cdef void* vectorcall
    cdef unsigned dimensions[7]  # and attributes, as cupola.h has them
    cdef unsigned attributes[6]
    cdef bint attributed
    cdef char* buffer
    cdef list held  # its arguments, kept alive
    cdef list arrays  # those of them that are a cupola.Array or Memory; replaced, never changed
    cdef bint foreign  # some of its arguments are memory that is not cupola's
    cdef cupola_stream* told  # the stream which the arrays know to be used on
    cdef unsigned long long seen  # memory.freed when the arrays were found live
    cdef size_t nbytes  # of the buffer
    cdef cupola_kernel* native

    # Queues it on the stream; None: on its own, or on the current one.
    cdef int send(self, Stream stream) except -1
    cdef int note_arrays(self) except -1
    cdef int look(self) except -1
