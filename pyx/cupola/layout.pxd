# cupola/layout.pxd - shapes and strides: where an array's elements lie; internal.

# What a shape= or dtype= argument means.
cdef tuple as_shape(object shape)
cdef object as_dtype(object dtype)
# Bytes of so many elements; an error where that is more than any memory.
cdef Py_ssize_t bytes_of(tuple shape, Py_ssize_t itemsize) except -1

# Strides in bytes.
cdef tuple c_strides(tuple shape, Py_ssize_t itemsize)
cdef tuple f_strides(tuple shape, Py_ssize_t itemsize)
cdef bint is_c_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1
cdef bint is_f_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1

# Shape, strides and offset in bytes of array[key].
cdef tuple indexed(tuple shape, tuple strides, object key)
# The shape that reshape(wanted) means; one size may be -1.
cdef tuple resolved(tuple shape, Py_ssize_t size, tuple wanted)
# Strides of the same elements in another shape, None where that needs a copy.
cdef tuple reshaped(tuple shape, tuple strides, tuple wanted)
# Strides with which the shape looks like another one, repeating elements.
cdef tuple broadcast(tuple shape, tuple strides, tuple wanted)
# Bytes from the first element's address to the lowest byte, and to the one after the highest.
cdef tuple extent(tuple shape, tuple strides, Py_ssize_t itemsize)
