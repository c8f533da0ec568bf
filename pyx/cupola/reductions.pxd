# cupola/reductions.pxd - the base class of arrays with reductions and products.

from cupola.operators cimport Operators

cdef class Reductions(Operators):
    pass
