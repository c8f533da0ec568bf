# cupola/array_data.pxd - the data of an array, which array.pxd gives a class.

from libc.stdint cimport uint64_t

from cupola._atomic cimport load_flag, load_memory
from cupola.memory cimport Memory
from cupola.stream cimport Stream

# cupola.Array, the class of every array. Its module sets this at import: the methods of Array use
# operations, and operations make arrays, so they cannot cimport the class.
cdef type ARRAY

# The root of cupola.Array's bases, which add methods and no data. Operations know only this class.
cdef class ArrayData:
    cdef Memory memory  # None where other code owns the memory
    cdef object owner  # the owner of such memory
    cdef uint64_t start
    cdef readonly tuple shape
    cdef readonly object dtype
    cdef readonly Py_ssize_t size  # elements
    cdef readonly Py_ssize_t itemsize  # bytes
    cdef readonly Py_ssize_t nbytes
    cdef readonly int device_index
    cdef tuple steps  # strides in bytes; None: C order
    cdef char kind  # NumPy's letter for the kind of elements
    cdef int element  # its code in elementwise.h, 0 until it is looked up
    cdef bint contiguous  # C order
    cdef bint direct  # a kernel can take it: C order, the machine's byte order, aligned
    cdef bint readonly
    cdef bint live  # until free(); see Memory.native for the views of an array that was freed

    cdef int require_live(self) except -1
    cdef int require_writable(self) except -1

    cdef uint64_t get_address(self) except? 0  # raises if the array was freed
    cdef tuple get_strides(self)
    cdef str described(self)
    cdef object text(self, object form)
    cdef int used_on(self, Stream stream) except -1  # work on the stream uses the memory
    cdef ArrayData view_as(self, tuple shape, tuple strides, Py_ssize_t offset, object dtype=*)

cdef inline bint is_freed(ArrayData x) noexcept:
    return not load_flag(x.live) or (
        x.memory is not None and load_memory(x.memory.native) == NULL)

# The owner of an array's memory, which `Array.free` releases.
cdef object owner_of(ArrayData array)

# A new array in C order; dtype is a numpy.dtype.
cdef ArrayData new_array(tuple shape, object dtype, int device, Stream stream)
# An array over existing memory; strides of None mean C order.
cdef ArrayData lay(
    tuple shape, tuple strides, object dtype, Memory memory, object owner, uint64_t start,
    int device)
