# cupola/launch.pxd - a launch that was packed once.

from cupola.abi cimport cupola_abi_1
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream

cdef class Launch:
    cdef readonly Kernel kernel
    cdef readonly Stream stream  # None: the current one when it is sent
    cdef unsigned grid_size[3]
    cdef unsigned block_size[3]
    cdef unsigned shared_size
    cdef char* buffer
    cdef list held  # its arguments, kept alive
    cdef list arrays  # those of them that are a cupola.Array

    # Queues it on the stream; None: on its own, or on the current one.
    cdef int send(self, Stream stream) except -1
