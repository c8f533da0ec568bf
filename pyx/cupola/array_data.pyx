# cupola/array_data.pyx - the data of an array: its elements' type, shape, strides and memory.
# cython: language_level=3

cimport cython

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.device cimport device_text
from cupola.element cimport is_direct
from cupola.layout cimport MAX_AXES, bytes_of, c_strides, is_c_contiguous, refuse_axes
from cupola.memory cimport allocate
from cupola.stream cimport captures, current_stream, require_contents

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, DriverError

cdef object MOST_STRIDE = 1 << 60

cdef type ARRAY = None


cdef ArrayData lay(
    tuple shape, tuple strides, object dtype, Memory memory, object owner, uint64_t start,
    int device
):
    cdef type kind = ARRAY
    cdef ArrayData array = <ArrayData>kind.__new__(kind)
    if len(shape) > MAX_AXES:
        refuse_axes(len(shape))
    if strides is not None:
        for step in strides:
            if not -MOST_STRIDE <= step <= MOST_STRIDE:
                raise ArgumentValueError(f"strides of {strides} bytes exceed the address space")
    array.itemsize = dtype.itemsize
    array.nbytes = bytes_of(shape, array.itemsize)
    array.memory = memory
    array.owner = owner
    array.start = start
    array.shape = shape
    array.dtype = dtype
    array.size = array.nbytes // array.itemsize if array.itemsize else bytes_of(shape, 1)
    array.device_index = device
    array.kind = ord(dtype.kind)
    array.contiguous = is_c_contiguous(shape, strides, array.itemsize)
    array.direct = array.contiguous and is_direct(dtype, start, array.nbytes)
    array.steps = strides
    array.live = True
    return array


cdef ArrayData new_array(tuple shape, object dtype, int device, Stream stream):
    cdef ArrayData array = lay(shape, None, dtype, None, None, 0, device)
    array.memory = allocate(device, array.nbytes, stream)
    array.start = array.memory.address
    return array


cdef object owner_of(ArrayData array):
    with cython.critical_section(array):
        return array.owner


cdef class ArrayData:
    def __init__(self):
        raise TypeError("arrays are made by cupola.empty, zeros, to_device or asarray")

    cdef int require_live(self) except -1:
        if self.shape is None:  # made by __new__ without __init__
            raise ArgumentTypeError("this cupola.Array was never initialized")
        if is_freed(self):
            raise ArgumentValueError(
                f"this cupola.Array of shape {self.shape} was freed: its memory is gone")
        return 0

    cdef int require_writable(self) except -1:
        self.require_live()
        if self.readonly:
            raise ArgumentValueError("this array's memory is read-only")
        return 0

    cdef uint64_t get_address(self) except? 0:
        self.require_live()
        return self.start

    cdef tuple get_strides(self):
        if self.steps is None:
            return c_strides(self.shape, self.itemsize)
        return self.steps

    cdef str described(self):
        """One line without the elements."""
        if is_freed(self):
            return f"<cupola.Array shape={self.shape} dtype={self.dtype}, freed>"
        return (
            f"<cupola.Array shape={self.shape} dtype={self.dtype} on "
            f"{device_text(self.device_index)}>")

    cdef object text(self, object form):
        """The text with the elements, which it waits for; without them where that fails."""
        if is_freed(self) or captures(current_stream(self.device_index), None):
            return self.described()
        try:
            require_contents(current_stream(self.device_index), self.start)
        except ArgumentValueError:  # memory that a running capture fills
            return self.described()
        try:
            return form(self)
        except ArgumentValueError:
            if not is_freed(self):
                raise
            return self.described()  # another thread has just freed it
        except DriverError as error:  # for example of a failed kernel
            return f"{self.described()[:-1]}, unreadable: {error}>"

    cdef int used_on(self, Stream stream) except -1:
        if self.memory is None:
            owner = owner_of(self)
            if owner is not None:
                captures(stream, owner)  # each launch of the graph uses it
        elif self.memory.stream.native != stream.native:
            self.memory.use(stream.native)
        return 0

    cdef ArrayData view_as(self, tuple shape, tuple strides, Py_ssize_t offset, object dtype=None):
        cdef uint64_t start = self.get_address() + offset
        cdef ArrayData view = lay(
            shape, strides, self.dtype if dtype is None else dtype, self.memory, owner_of(self),
            start, self.device_index)
        view.readonly = self.readonly
        return view


document_attributes(ArrayData, {
    "shape": "The number of elements along each axis, a tuple of int.",
    "dtype": "The type of the elements, a `numpy.dtype`.",
    "size": "The number of elements.",
    "itemsize": "The bytes of an element.",
    "nbytes": "The bytes of all elements: ``size * itemsize``.",
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
