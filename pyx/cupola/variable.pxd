# cupola/variable.pxd - a module's variable in device memory.

from libc.stdint cimport uint64_t

cdef class Variable:
    cdef readonly object module
    cdef readonly str name
    cdef readonly uint64_t address
    cdef readonly size_t nbytes
    cdef readonly int device_index
