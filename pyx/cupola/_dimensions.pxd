# cupola/_dimensions.pxd - grid and block out of Python's ints and tuples; internal.

from cupola._abi cimport cupola_dimensions

cdef int read_dimensions(
    str kernel, int device, object grid, object block, object shared,
    cupola_dimensions* out) except -1
