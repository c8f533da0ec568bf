# cupola/variable.pxd - a module's variable in device memory.

from libc.stdint cimport uint64_t

from cupola.abi cimport cupola_abi_1

cdef class Variable:
    cdef readonly object module
    cdef readonly str name
    cdef readonly uint64_t address
    cdef readonly size_t nbytes
    cdef readonly int device_index
