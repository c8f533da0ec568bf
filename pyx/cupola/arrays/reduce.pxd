# cupola/arrays/reduce.pxd - reductions of arrays along axes; internal.

# `reduction` is from reduce.h. `initial` and `where` are refused unless they are None and True.
cdef object reduce(
    int reduction, object array, object axis, object dtype, object out, object keepdims,
    object initial, object where)
# numpy.dot
cdef object dot(object first, object second, object out)
# NumPy's ufunc.reduce, for an array.
cdef object reduce_ufunc(object ufunc, tuple inputs, dict options)
# numpy.matmul, the operator @.
cdef object matmul(object first, object second, object out)
