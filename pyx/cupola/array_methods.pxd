# cupola/array_methods.pxd - the base class of arrays with NumPy's methods.

from cupola.reductions cimport Reductions

cdef class ArrayMethods(Reductions):
    pass
