# cupola/arrays/call_form.pyx - the form of a call's arguments: all that a plan depends on.
# cython: language_level=3, boundscheck=False, wraparound=False

from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array_data cimport ARRAY, ArrayData, is_freed

cdef enum Tag:  # of a value in a key
    NONE = 1
    BOOL
    INT
    FLOAT
    SEQUENCE
    SLICE
    OBJECT
    NUMBER
    OPERAND
    KEYWORD

cdef object GENERIC = np.generic
cdef object DTYPE = np.dtype


cdef bint describe(Form* form, tuple args, dict kwargs, list held) except -1:
    form.used = form.count = 0
    for value in args:
        if not put_value(form, value, held):
            return False
    for name, value in kwargs.items():
        if not put(form, KEYWORD) or not put_object(form, name, held):
            return False
        if not put_value(form, value, held):
            return False
    return form.count != 0


cdef inline bint put(Form* form, int64_t word) noexcept:
    if form.used == MAX_WORDS:
        return False
    form.words[form.used] = word
    form.used += 1
    return True


cdef bint put_value(Form* form, object value, list held) except -1:
    cdef double number
    cdef int64_t word
    if type(value) is ARRAY:
        return put_array(form, <ArrayData>value, held)
    if value is None:
        return put(form, NONE)
    if type(value) is bool:
        return put(form, BOOL) and put(form, 1 if value else 0)
    if type(value) is int:
        if not -(1 << 63) <= value < 1 << 63:
            return False
        return put(form, INT) and put(form, value)
    if type(value) is float:
        number = value
        memcpy(&word, &number, sizeof(word))
        return put(form, FLOAT) and put(form, word)
    if type(value) is tuple or type(value) is list:
        if not put(form, SEQUENCE) or not put(form, len(value)):
            return False
        if not put(form, 0 if type(value) is tuple else 1):
            return False
        for item in value:
            if not put_value(form, item, held):
                return False
        return True
    if type(value) is slice:
        return (
            put(form, SLICE) and put_value(form, value.start, held)
            and put_value(form, value.stop, held) and put_value(form, value.step, held))
    if isinstance(value, (str, type, DTYPE)) or value is Ellipsis:
        return put(form, OBJECT) and put_object(form, value, held)
    if isinstance(value, GENERIC) and value.dtype.kind in "biufc":
        if not put(form, NUMBER) or not put_object(form, type(value), held):
            return False
        for byte in value.tobytes():
            if not put(form, byte):
                return False
        return True
    return False


cdef bint put_object(Form* form, object value, list held) except -1:
    if held is not None:
        held.append(value)
    return put(form, <int64_t><uintptr_t><PyObject*>value)


cdef bint put_array(Form* form, ArrayData x, list held) except -1:
    cdef Py_ssize_t i, axis, ndim
    cdef cupola_extent* mine
    cdef cupola_extent* other
    if x.shape is None or is_freed(x):
        return False
    for i in range(form.count):
        if form.operands[i] == <PyObject*>x:
            return put(form, OPERAND) and put(form, i)
    if form.count == MAX_OPERANDS:
        return False
    ndim = len(x.shape)
    if form.used + 6 + 2 * ndim > MAX_WORDS:
        return False
    if form.count and (<ArrayData>form.operands[0]).device_index != x.device_index:
        return False
    form.operands[form.count] = <PyObject*>x
    mine = &form.extents[form.count]
    set_extent(mine, x)
    for i in range(form.count):
        other = &form.extents[i]
        if mine.address < other.address + other.bytes and (
            other.address < mine.address + mine.bytes
        ):
            return False  # whether operands overlap may matter
    put(form, OPERAND)
    put(form, form.count)
    form.count += 1
    put_object(form, x.dtype, held)
    put(form, ndim << 2 | x.readonly << 1 | (x.steps is None))
    for axis in range(ndim):
        put(form, x.shape[axis])
    if x.steps is not None:
        for axis in range(ndim):
            put(form, x.steps[axis])
    put(form, x.start & (ALIGNMENT - 1))
    return put(form, x.device_index)


cdef int set_extent(cupola_extent* extent, ArrayData x) except -1:
    """The bytes from the first to the last element."""
    cdef Py_ssize_t axis
    cdef int64_t low = 0, high = x.itemsize, reach
    extent.address, extent.bytes = x.start, 0
    if x.nbytes == 0:
        return 0
    if x.steps is None:
        extent.bytes = x.nbytes
        return 0
    for axis in range(len(x.shape)):
        reach = (<int64_t>x.shape[axis] - 1) * <int64_t>x.steps[axis]
        if reach < 0:
            low += reach
        else:
            high += reach
    extent.address, extent.bytes = x.start + low, high - low
    return 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
