# cupola/array.pxd - an array in a device's memory.

from cupola.array_data cimport ArrayData, lay, new_array
from cupola.interface cimport foreign_array, is_foreign
from cupola.memory cimport host_address, is_pinned
from cupola.stream cimport Stream

# ArrayData, its base, declares its data and its methods for Cython. The family cupola.arrays
# derives the class of all arrays from this class, and overrides these methods.
cdef class Array(ArrayData):
    cdef object items_at(self, object key)  # indexing by arrays
    cdef int set_items_at(self, object key, object value) except -1
    cdef ArrayData converted_to(self, object dtype, Stream stream)
