# cupola/reduce.pxd - arrays reduced along axes; internal.

# ufunc.reduce of NumPy's, for an array.
cdef object reduce_ufunc(object ufunc, tuple inputs, dict options)
# numpy.matmul, the operator @.
cdef object matmul(object x, object y)
