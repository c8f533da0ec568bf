# cupola/_foreign.pxd - reads arrays of other libraries fast, for launches; internal.

from libc.stdint cimport uint64_t

from cupola.handles cimport cupola_stream

# Writable device memory in C order, described for a launch.
cdef struct Foreign:
    uint64_t address
    char kind  # NumPy's letter for the kind of elements
    Py_ssize_t itemsize
    bint ordered  # whether the data depends on the work of another stream
    uint64_t stream  # the handle of that stream, never 0 and never the launch's own

# Returns whether it could read the object. Where it could not, read the object with interface_of,
# which raises the errors.
cdef bint try_read(object value, int device, cupola_stream* stream, Foreign* out) except -1

# Notes that objects of this type can be read this way.
cdef int remember(type kind) except -1
