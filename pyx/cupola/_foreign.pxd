# cupola/_foreign.pxd - quick looks at arrays of other libraries, for launches; internal.

from libc.stdint cimport uint64_t

from cupola.handles cimport cupola_stream

# Device memory in C order that may be written, as a launch needs to know it.
cdef struct Foreign:
    uint64_t address
    char kind  # NumPy's letter for the kind of elements
    Py_ssize_t itemsize
    bint ordered  # whether the data is ready only after the work of another stream
    uint64_t stream  # the handle of that stream, which is not the launch's; never 0

# Whether all of it could be learnt at a look; where not, for whatever reason, the object is to be
# read by interface_of, which has the words for errors.
cdef bint look(object value, int device, cupola_stream* stream, Foreign* out) except -1

# Objects of this type were read before and are worth a look from now on.
cdef int remember(type kind) except -1
