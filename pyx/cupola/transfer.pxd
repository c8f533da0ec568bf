# cupola/transfer.pxd - host arrays as kernel arguments; internal.

from cupola.memory cimport Memory
from cupola.stream cimport Stream

cdef class Transfer:
    cdef readonly object array  # numpy.ndarray, C-contiguous
    cdef bint swapped  # it is not in the machine's byte order, as device memory is
    cdef bint inward
    cdef bint outward
    cdef char kind
    cdef Py_ssize_t itemsize

    cdef Memory begin(self, int device, Stream stream)  # device memory, copied in
    cdef int end(self, Memory memory, Stream stream) except -1  # queue the copy back

cdef class In(Transfer):
    pass

cdef class Out(Transfer):
    pass

cdef class InOut(Transfer):
    pass
