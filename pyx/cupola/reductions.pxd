# cupola/reductions.pxd - the base class of arrays with reductions and products.

from cupola.operators cimport Operators

# reduce.pyx implements them and sets these pointers; see operators.pxd.
cdef struct Reducers:
    object (*reduce)(
        int reduction, object x, object axis, object dtype, object out, object keepdims,
        object initial, object where)
    object (*dot)(object x, object y, object out)
    object (*matmul)(object x, object y)

cdef Reducers BY

cdef class Reductions(Operators):
    pass
