# cupola/copy.pxd - copies between arrays, and between arrays and the host; internal.

from cupola.array_data cimport ArrayData
from cupola.stream cimport Stream

# Copies the source, of the same dtype and a shape that broadcasts, to the target. They may overlap.
cdef int copy_on_device(ArrayData target, ArrayData source, Stream queue) except -1

# Copies a NumPy array of the same dtype and a shape that broadcasts to the target. When this
# returns, the source was read, unless `by_itself` is set and its memory is page-locked.
cdef int upload(ArrayData target, object host, Stream queue, bint by_itself) except -1

# Copies the array to a NumPy array of the same dtype and shape. The result is complete when this
# returns, unless `by_itself` is set and its memory is page-locked.
cdef int download(ArrayData source, object host, Stream queue, bint by_itself) except -1

# Copies to a NumPy array of any dtype that `check_out` accepts.
cdef int download_converted(
    ArrayData source, object out, Stream queue, bint by_itself) except -1

# Raises unless the shape is the array's.
cdef int check_shape(str name, tuple shape, ArrayData array) except -1
# Raises unless the array can be copied to the host array.
cdef int check_out(object out, ArrayData array) except -1
# Host values as elements of a dtype, which work on the stream copies from; see `require_source`.
cdef object host_elements(object value, object dtype, Stream queue)
# Raises in a capture where a value has memory, and the NumPy array that was made of the value has
# other memory: each launch would copy the elements of now. Messages have the value's name.
cdef int require_source(object value, object host, Stream queue, str name=*) except -1

# Copies a host value to the target, to which its elements (a NumPy array of the target's dtype)
# broadcast. When this returns, the value was read; in a capture, each launch reads its memory.
cdef int assign(ArrayData target, object value, object elements, Stream queue) except -1

# Sets every element to one value, a NumPy array without axes.
cdef int fill(ArrayData target, object element, Stream queue) except -1

# A copy on the same device, in order "C" or "F".
cdef ArrayData compact(ArrayData source, str order, Stream queue)

# Whether the byte ranges of the two arrays, from the first to the last byte, overlap.
cdef bint overlap(ArrayData one, ArrayData other) except -1
