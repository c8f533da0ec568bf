# cupola/arrays/reductions.pxd - the base class of arrays with reductions and products.

from cupola.arrays.operators cimport Operators

cdef class Reductions(Operators):
    pass
