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

# Sets every element to one value, a NumPy array without axes.
cdef int fill(ArrayData target, object element, Stream queue) except -1

# A copy on the same device, in order "C" or "F".
cdef ArrayData compact(ArrayData source, str order, Stream queue)

# Whether the bytes between their first and last ones overlap.
cdef bint overlap(ArrayData one, ArrayData other) except -1
