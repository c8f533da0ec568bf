# cupola/arrays/ufuncs.pxd - NumPy's ufuncs of arrays; internal.

# __array_ufunc__
cdef object call_ufunc(object ufunc, str method, tuple inputs, dict options)
