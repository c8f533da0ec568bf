# cupola/stream.pxd - a stream.

from cupola.handles cimport cupola_stream

cdef class Stream:
    cdef cupola_stream* native
    cdef readonly int device_index

    cdef void* get_handle(self) noexcept nogil  # the driver's CUstream
    # Until all that is queued is done. Never with Python's lock: a Python function that a stream
    # calls wants it.
    cdef int wait_done(self) except -1 nogil
    cdef int is_done(self) except -1 nogil  # 0 or 1

# Takes over a reference to a stream.
cdef Stream adopt(cupola_stream* native)

# This thread's current stream of the device.
cdef Stream current_stream(int device)

# The stream that a stream= argument means: a Stream, an object with __cuda_stream__, or None for
# the current one of the device.
cdef Stream as_stream(object stream, int device)

# A stream that somebody else owns, by its CUstream; `owner` lives as long as cupola needs it.
cdef Stream wrap_handle(void* handle, object owner, int device)

# Whether the stream is being captured by cupola; then the graph holds what is needed (or None).
cdef bint captures(Stream stream, object needed) except -1
