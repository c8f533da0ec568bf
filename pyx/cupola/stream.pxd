# cupola/stream.pxd - a stream.

from libc.stdint cimport uint64_t

from cupola.handles cimport cupola_stream

cdef class Stream:
    cdef cupola_stream* native
    cdef readonly int device_index

    cdef void* get_handle(self) noexcept nogil  # the driver's CUstream
    # Waits until all queued work is done. Never call this with the GIL held: the work may include
    # a Python function, which needs the GIL.
    cdef int wait_done(self) except -1 nogil
    cdef int is_done(self) except -1 nogil  # 0 or 1

# Wraps a stream and takes over the caller's reference.
cdef Stream adopt(cupola_stream* native)

# This thread's current stream of the device.
cdef Stream current_stream(int device)

# The stream for a stream= argument: a Stream, an object with __cuda_stream__, a stream of PyTorch,
# CuPy or Numba, or None for the device's current stream. Python code calls stream_of.
cdef Stream as_stream(object stream, int device)

# A stream of other code, by its CUstream; `owner` stays alive as long as cupola needs the stream.
cdef Stream wrap_handle(void* handle, object owner, int device)

# Whether cupola is capturing the stream; if so, the graph keeps the given object (or None) alive.
cdef bint captures(Stream stream, object needed) except -1

# Raises where cupola is capturing the stream: the host can't use at once what its work makes. The
# title is the call; the remedy, by default `Array.get`, works in a capture.
cdef int refuse_capture(Stream stream, str title, str remedy=*) except -1

# Raises where a running capture allocated the memory at the address, and the stream takes no part.
# Copies, fills and launches check this; for other code that gets the address.
cdef int require_contents(Stream stream, uint64_t address) except -1
