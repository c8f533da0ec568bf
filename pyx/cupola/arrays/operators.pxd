# cupola/arrays/operators.pxd - the class that gives arrays their operators.

from cupola.array cimport Array

cdef class Operators(Array):
    pass
