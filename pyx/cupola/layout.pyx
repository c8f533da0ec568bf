# cupola/layout.pyx - shapes and strides, by NumPy's rules; accesses no memory.
# cython: language_level=3

import math
import operator

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

cdef object DTYPE = np.dtype
cdef object LARGEST = (1 << 63) - 1


cdef int refuse_axes(Py_ssize_t count) except -1:
    raise ArgumentValueError(f"an array has at most {MAX_AXES} axes, got {count}")


cdef object as_int(str name, object value):
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{name}: expected an int, got {value!r}") from None


cdef tuple as_shape(object shape):
    if type(shape) is tuple and len(<tuple>shape) <= MAX_AXES:
        for axis in <tuple>shape:
            if type(axis) is not int or axis < 0:
                break
        else:
            return <tuple>shape
    if hasattr(shape, "__index__"):
        shape = (shape,)
    try:
        axes = tuple([axis.__index__() for axis in shape])
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"a shape is an int or a sequence of ints, got {shape!r}") from None
    if len(axes) > MAX_AXES:
        refuse_axes(len(axes))
    for axis in axes:
        if axis < 0:
            raise ArgumentValueError(f"a shape can't have negative sizes, got {axes}")
    return axes


cdef object as_dtype(object dtype):
    if not isinstance(dtype, DTYPE):
        try:
            dtype = np.dtype(dtype)
        except TypeError as error:
            raise ArgumentTypeError(f"not an element type: {dtype!r} ({error})") from None
    if dtype.hasobject:
        raise ArgumentTypeError(f"a device can't hold Python objects (dtype {dtype})")
    return dtype


cdef Py_ssize_t bytes_of(tuple shape, Py_ssize_t itemsize) except -1:
    nbytes = itemsize
    for length in shape:
        nbytes *= length
    if nbytes > LARGEST:
        raise ArgumentValueError(
            f"an array of shape {shape} and {itemsize} bytes an element is too large")
    return nbytes


cdef tuple c_strides(tuple shape, Py_ssize_t itemsize):
    cdef list steps = []
    step = itemsize
    for length in reversed(shape):
        steps.append(step)
        step *= length or 1  # as in NumPy
    steps.reverse()
    return tuple(steps)


cdef tuple f_strides(tuple shape, Py_ssize_t itemsize):
    return c_strides(shape[::-1], itemsize)[::-1]


cdef bint is_c_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1:
    if strides is None or 0 in shape:
        return True
    cdef Py_ssize_t expected = itemsize, axis
    for axis in range(len(shape) - 1, -1, -1):
        length = shape[axis]
        if length != 1:
            if strides[axis] != expected:
                return False
            expected *= length
    return True


cdef bint is_f_contiguous(tuple shape, tuple strides, Py_ssize_t itemsize) except -1:
    if strides is None:
        strides = c_strides(shape, itemsize)
    return is_c_contiguous(shape[::-1], strides[::-1], itemsize)


cdef bint is_indices(object index):
    """Whether it is an array of indices or a mask, which has no view."""
    if isinstance(index, (list, tuple, bool, np.bool_)):
        return True
    if isinstance(index, np.ndarray):
        return index.ndim > 0 or index.dtype == np.bool_
    for each in ("__cuda_array_interface__", "__dlpack__"):
        # The class is asked first: an array computes the value of its interface.
        if hasattr(type(index), each) or hasattr(index, each):
            return True
    return False


cdef tuple indexed(tuple shape, tuple strides, object key):
    cdef tuple keys = key if isinstance(key, tuple) else (key,)
    cdef Py_ssize_t taken = 0, axis = 0, offset = 0, skipped, length, place
    cdef bint open = False
    cdef list lengths = [], steps = []
    for each in keys:
        if each is Ellipsis:
            if open:
                raise IndexError("an index can have only one ellipsis ('...')")
            open = True
        elif each is not None:
            # A mask takes several axes, so the axes of all parts depend on it.
            if type(each) is not int and not isinstance(each, slice) and is_indices(each):
                return None
            taken += 1
    if taken > len(shape):
        raise IndexError(f"the array has {len(shape)} axes, and {taken} are indexed")
    for each in keys:
        if each is None:
            lengths.append(1)
            steps.append(0)
        elif each is Ellipsis:
            skipped = len(shape) - taken
            lengths += shape[axis:axis + skipped]
            steps += strides[axis:axis + skipped]
            axis += skipped
        elif isinstance(each, slice):
            try:
                start, stop, step = each.indices(shape[axis])
            except TypeError as error:
                raise ArgumentTypeError(f"{each} is not a valid slice: {error}") from None
            number = len(range(start, stop, step))
            if number:
                offset += start * strides[axis]
            lengths.append(number)
            steps.append(strides[axis] * step)
            axis += 1
        else:
            if type(each) is not int and not hasattr(each, "__index__"):
                raise ArgumentTypeError(
                    "a cupola.Array is indexed by ints, slices, ..., None, and arrays of "
                    f"integers or bool, got a {type(each).__name__}")
            length = shape[axis]
            index = each.__index__()
            if not -length <= index < length:
                raise IndexError(
                    f"index {index} is out of bounds for axis {axis} with size {length}")
            place = index % length
            offset += place * <Py_ssize_t>strides[axis]
            axis += 1
    return tuple(lengths) + shape[axis:], tuple(steps) + strides[axis:], offset


cdef tuple resolved(tuple shape, Py_ssize_t size, tuple wanted):
    if len(wanted) == 1 and not hasattr(wanted[0], "__index__"):
        wanted = as_sequence(wanted[0])
    else:
        wanted = as_sequence(wanted)
    known = math.prod([axis for axis in wanted if axis != -1])
    if wanted.count(-1) == 1 and known and size % known == 0:
        wanted = tuple([size // known if axis == -1 else axis for axis in wanted])
    if -1 in wanted or min(wanted, default=0) < 0 or math.prod(wanted) != size:
        raise ArgumentValueError(f"an array of shape {shape} can't be reshaped to {wanted}")
    return wanted


cdef tuple as_sequence(object axes):
    try:
        return tuple([axis.__index__() for axis in axes])
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"a shape is an int or a sequence of ints, got {axes!r}") from None


cdef tuple reshaped(tuple shape, tuple strides, tuple wanted):
    # Process both shapes in groups of axes with equal numbers of elements. The old axes of a group
    # must be one evenly spaced run of elements, which the new axes divide.
    cdef list old = [
        (length, stride) for length, stride in zip(shape, strides, strict=True) if length != 1]
    cdef list steps = [0] * len(wanted)
    cdef Py_ssize_t before = 0, after = 0, first, axis
    if 0 in wanted:
        return c_strides(wanted, 1)
    while before < len(old):
        first = after
        have, need = old[before][0], wanted[after]
        run = [old[before]]
        while have != need:
            if have < need:
                before += 1
                run.append(old[before])
                have *= old[before][0]
            else:
                after += 1
                need *= wanted[after]
        for (_, outer), (length, inner) in zip(run, run[1:]):  # noqa: B905
            if outer != inner * length:
                return None
        step = run[len(run) - 1][1]
        for axis in range(after, first - 1, -1):
            steps[axis] = step
            step *= wanted[axis]
        before += 1
        after += 1
        # Remaining axes of length 1 have no influence.
    return tuple(steps)


cdef tuple broadcast(tuple shape, tuple strides, tuple wanted):
    cdef Py_ssize_t new = len(wanted) - len(shape), axis
    cdef list steps = [0] * max(new, 0)
    fits = new >= 0
    for axis in range(len(shape)):
        if not fits:
            break
        if shape[axis] == wanted[new + axis]:
            steps.append(strides[axis])
        elif shape[axis] == 1:
            steps.append(0)
        else:
            fits = False
    if not fits:
        raise ArgumentValueError(f"an array of shape {shape} can't be put into shape {wanted}")
    return tuple(steps)


cdef tuple extent(tuple shape, tuple strides, Py_ssize_t itemsize):
    low, high = 0, itemsize
    if 0 in shape:
        return 0, 0
    for length, stride in zip(shape, strides, strict=True):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
