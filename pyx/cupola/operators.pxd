# cupola/operators.pxd - the class that gives arrays their operators.

from cupola.array_data cimport ArrayData

cdef class Operators(ArrayData):
    pass
