# cupola/layout.pxd - shapes and strides of arrays; internal.

cdef enum:
    MAX_AXES = 64  # NumPy's limit; structs with an entry for each axis have this length

cdef int refuse_axes(Py_ssize_t count) except -1  # more than MAX_AXES
# An argument as a Python int. Raises ArgumentTypeError, which names the argument, for anything
# else.
cdef object as_int(str name, object value)
# Converts a shape= or dtype= argument.
cdef tuple as_shape(object shape)
cdef object as_dtype(object dtype)
# The bytes of an array; raises where they exceed the address space.
cdef Py_ssize_t bytes_of(tuple shape, Py_ssize_t itemsize) except -1

# Strides in bytes.
cdef tuple c_strides(tuple shape, Py_ssize_t itemsize)
cdef tuple f_strides(tuple shape, Py_ssize_t itemsize)
cdef bint is_c_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1
cdef bint is_f_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1

# Shape, strides and offset in bytes of array[key]; None where a key has arrays of indices.
cdef tuple indexed(tuple shape, tuple strides, object key)
# The shape for reshape(wanted); one size may be -1.
cdef tuple resolved(tuple shape, Py_ssize_t size, tuple wanted)
# Strides of the same elements in another shape; None where that needs a copy.
cdef tuple reshaped(tuple shape, tuple strides, tuple wanted)
# Strides that broadcast the shape to another shape.
cdef tuple broadcast(tuple shape, tuple strides, tuple wanted)
# Bytes from the first element's address to the lowest byte, and to the one after the highest.
cdef tuple extent(tuple shape, tuple strides, Py_ssize_t itemsize)
