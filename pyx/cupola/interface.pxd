# cupola/interface.pxd - describes memory of other libraries; internal.

from libc.stdint cimport uint64_t

from cupola.array_data cimport ArrayData
from cupola.handles cimport cupola_stream

cdef class Interface:
    cdef uint64_t address
    cdef tuple shape
    cdef tuple strides  # in bytes; None: C order
    cdef object dtype
    cdef char kind
    cdef Py_ssize_t itemsize
    cdef bint readonly
    cdef bint contiguous
    cdef bint direct  # as in array_data.pxd
    cdef bint ordered  # whether the data has to be waited for
    cdef uint64_t stream  # on this stream
    cdef object owner  # the object that owns the memory

    # Makes later work of the stream wait for the data.
    cdef int wait_for_data(self, cupola_stream* stream) except -1

# Reads __cuda_array_interface__, else __dlpack__; None where the object has neither.
# The device, if it is not -1, is the one that is to use the memory.
cdef Interface interface_of(object value, int device=*)

# An array over another library's memory; this thread's current stream waits for its data.
cdef ArrayData foreign_array(object source)
cdef bint is_foreign(object source)
