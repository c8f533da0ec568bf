# cupola/_foreign.pxd - reads arrays of other libraries fast, for launches; internal.

from libc.stdint cimport intptr_t, uint64_t

from cupola._dlpack cimport CupolaExchange
from cupola.handles cimport cupola_stream

# Writable device memory in C order, described for a launch.
cdef struct Foreign:
    uint64_t address
    char kind  # NumPy's letter for the kind of elements
    Py_ssize_t itemsize
    bint ordered  # whether the data depends on the work of another stream
    uint64_t stream  # the handle of that stream, never 0 and never the launch's own

# Returns whether the object could be read. If not, read the object with interface_of, which raises
# the errors.
cdef bint try_read(object value, int device, cupola_stream* stream, Foreign* out) except -1

# Notes that objects of this type can be read this way.
cdef int remember(type kind) except -1

# The C functions that a class offers by DLPack 1.3; NULL where the class offers no functions, or
# lacks a function that a launch needs.
cdef CupolaExchange* exchange_of(type kind) except? NULL

ctypedef intptr_t (*StreamFunction)() noexcept

# Tells CuPy's current stream; NULL where this is not CuPy's own class, or CuPy is older than 14.
cdef StreamFunction cupy_stream_of(type kind) except? NULL
