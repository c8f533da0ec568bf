# cupola/copy.pxd - copies between arrays, and between arrays and the host; internal.

from cupola.array cimport Array
from cupola.stream cimport Stream

# The source, of the same dtype and a shape that broadcasts, into the target. Overlap is allowed.
cdef int copy_on_device(Array target, Array source, Stream queue) except -1

# A NumPy array of the same dtype and a shape that broadcasts, into the target. Unless `by_itself`,
# or where the memory is pageable, it has been read when this returns.
cdef int upload(Array target, object host, Stream queue, bint by_itself) except -1

# The array into a NumPy array of the same dtype and shape. It is complete when this returns,
# unless `by_itself` and page-locked.
cdef int download(Array source, object host, Stream queue, bint by_itself) except -1

# One element, a NumPy array without axes, to every place.
cdef int fill(Array target, object element, Stream queue) except -1

# A copy in an order, "C" or "F", on the same device.
cdef Array compact(Array source, str order, Stream queue)

# Whether the bytes between their first and last ones overlap.
cdef bint overlap(Array one, Array other) except -1
