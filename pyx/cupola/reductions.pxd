# cupola/reductions.pxd - the class that gives arrays their sums, extremes and products.

from cupola.operators cimport Operators

# What does them: reduce.pyx, which knows of arrays and sets these; see operators.pxd.
cdef struct Reducers:
    object (*reduce)(
        int reduction, object x, object axis, object dtype, object out, object keepdims,
        object initial, object where)
    object (*dot)(object x, object y, object out)
    object (*matmul)(object x, object y)

cdef Reducers BY

cdef class Reductions(Operators):
    pass
