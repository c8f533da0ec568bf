# cupola/reduce.pxd - reductions of arrays along axes; internal.

# NumPy's ufunc.reduce, for an array.
cdef object reduce_ufunc(object ufunc, tuple inputs, dict options)
# numpy.matmul, the operator @.
cdef object matmul(object x, object y)
