# cupola/array.pxd - an array in a device's memory.

from cupola.array_data cimport ArrayData, lay, new_array
from cupola.interface cimport foreign_array, is_foreign
from cupola.memory cimport host_address, is_pinned
from cupola.array_methods cimport ArrayMethods

# ArrayData, the root of its bases, declares its data and its methods for Cython.
cdef class Array(ArrayMethods):
    pass
