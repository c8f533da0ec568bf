# cupola/array_access.pyx - reads and makes arrays of one class, for calls of operations.
# cython: language_level=3, boundscheck=False, wraparound=False
"""Access to arrays without the general call of `cupola.ops`."""

cimport cython
from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject, PyObject_Call
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_captures, cupola_device_count,
)
from cupola._argument cimport hold_captured
from cupola._dlpack cimport CUDA
from cupola._foreign cimport cupy_stream_of, exchange_of
from cupola.abi cimport require
from cupola.array_data cimport ArrayData, is_freed, new_array, owner_of
from cupola.error cimport check
from cupola.native_operation cimport type_of
from cupola.stream cimport Stream, current_stream

cdef dict ACCESSES = {}
cdef enum:
    COMPLEX = 5  # DLPack's type code


cdef ArrayAccess access_of(type kind):
    return <ArrayAccess>ACCESSES.get(kind)


def register(object kind not None, ArrayAccess access not None):
    """Set the access for the arrays of a class. It stays, and so does the class."""
    ACCESSES[kind] = access


def has_access(object kind not None):
    """Whether there is an access for the arrays of a class."""
    return kind in ACCESSES


cdef class Allocation:
    """How an array is made: by ``function(*args, **kwargs)``.

    Parameters
    ----------
    function : callable
        None for cupola's arrays.
    args : tuple
    kwargs : dict
    like : int
        The input which is the only argument instead; -1 for none.
    """

    def __init__(self, function, tuple args not None, dict kwargs not None, int like=-1):
        self.function, self.args, self.kwargs, self.like = function, args, kwargs, like


cdef class ArrayAccess:
    cdef int begin(self, bint autocast) except -2:
        return 0

    cdef Py_ssize_t read(
        self, object value, int flags, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
    ) except -2:
        return GENERAL

    cdef bint set_stream(
        self, object stream, const CupolaTensor* first, cupola_op_call* call
    ) except -1:
        return False

    cdef int set_type(self, object dtype, CupolaTensor* out) except -2:
        cdef tuple found
        cdef object _replaced = None
        cdef int code, bits
        cdef bint known
        with cython.critical_section(self):
            known = dtype is self.dtype
            code, bits = self.code, self.bits
        if not known:
            found = type_of(dtype)
            code, bits = found[0], found[1]
            with cython.critical_section(self):
                _replaced = self.dtype  # released behind the section
                self.dtype, self.code, self.bits = dtype, code, bits
        out.code, out.bits, out.lanes, out.byte_offset = code, bits, 1, 0
        return 0 if bits else GENERAL

    cdef object allocate(self, Allocation form, object like, int device):
        if form.like >= 0:
            return form.function(like)
        return PyObject_Call(form.function, form.args, form.kwargs)

    cdef int note_use(self, object value, cupola_stream* stream) except -1:
        return 0


cdef Py_ssize_t copy_shape(
    tuple shape, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
) except -2:
    cdef Py_ssize_t axis, count = len(shape)
    if count > room:
        return GENERAL
    for axis in range(count):
        lengths[axis] = shape[axis]
    out.ndim = <int>count
    out.shape = lengths
    out.strides = NULL
    return count


cdef class CupolaAccess(ArrayAccess):
    """Of `cupola.Array`."""

    cdef Py_ssize_t read(
        self, object value, int flags, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
    ) except -2:
        cdef ArrayData array = <ArrayData>value
        cdef Py_ssize_t axis, count
        if array.shape is None or is_freed(array) or (flags & WRITTEN and array.readonly):
            return GENERAL
        if self.set_type(array.dtype, out) == GENERAL:
            return GENERAL
        out.data = <void*><uintptr_t>array.start
        out.device_type, out.device_id = CUDA, array.device_index
        count = copy_shape(array.shape, out, lengths, room)
        if count == GENERAL or array.contiguous:
            return count
        if 2 * count > room:
            return GENERAL
        out.strides = lengths + count
        for axis in range(count):
            out.strides[axis] = array.steps[axis] // array.itemsize
        return 2 * count

    def __cinit__(self):
        self.notes_use = True

    cdef bint set_stream(
        self, object stream, const CupolaTensor* first, cupola_op_call* call
    ) except -1:
        if stream is None:
            return True
        if type(stream) is not Stream:
            return False
        call.stream = (<Stream>stream).native
        return call.stream != NULL

    cdef object allocate(self, Allocation form, object like, int device):
        return new_array(<tuple>form.args[0], form.args[1], device, current_stream(device))

    cdef int note_use(self, object value, cupola_stream* stream) except -1:
        cdef ArrayData array = <ArrayData>value
        if array.memory is not None:
            return array.memory.use(stream) if array.memory.stream.native != stream else 0
        if cupola_captures():
            owner = owner_of(array)
            if owner is not None:
                hold_captured(owner, stream)  # each launch of the graph uses it
        return 0


cdef class CupyAccess(ArrayAccess):
    """Of CuPy's arrays.

    Parameters
    ----------
    kind : type
        ``cupy.ndarray``.
    current_device : callable
        Returns the index of CuPy's current device.
    """

    def __init__(self, object kind not None, current_device):
        cdef int devices = 0
        check(cupola_device_count(&devices))
        self.current_stream = cupy_stream_of(<type>kind)
        self.current_device = None if devices == 1 else current_device

    cdef int begin(self, bint autocast) except -2:
        return 0 if self.current_stream != NULL else GENERAL

    cdef Py_ssize_t read(
        self, object value, int flags, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
    ) except -2:
        if value._c_contiguous is not True or self.set_type(value.dtype, out) == GENERAL:
            return GENERAL
        data = value.data
        out.device_type, out.device_id = CUDA, 0
        # CuPy allocates on its current device, whose stream it uses.
        if self.current_device is not None:
            out.device_id = data.device_id
            if self.current_device() != out.device_id:
                return GENERAL
        out.data = <void*><uintptr_t>data.ptr
        return copy_shape(value.shape, out, lengths, room)

    cdef bint set_stream(
        self, object stream, const CupolaTensor* first, cupola_op_call* call
    ) except -1:
        if stream is not None:
            return False
        call.handle, call.has_handle = <void*>self.current_stream(), 1
        return True


cdef class TorchAccess(ArrayAccess):
    """Of PyTorch's tensors, by DLPack's C functions.

    Parameters
    ----------
    kind : type
        ``torch.Tensor``.
    records : callable
        Whether PyTorch records gradients.
    transforms : tuple of callable
        Each tells whether calls must go through PyTorch's dispatcher.
    casts : callable
        Whether autocast is on.
    """

    def __init__(self, object kind not None, records, tuple transforms not None, casts):
        self.exchange = exchange_of(<type>kind)  # also finds an attribute of a metaclass
        self.records, self.transforms, self.casts = records, transforms, casts

    cdef int begin(self, bint autocast) except -2:
        if self.exchange == NULL:
            return GENERAL
        for transform in self.transforms:
            if transform():
                return GENERAL
        if autocast and self.casts():
            return GENERAL
        return GRADIENTS if self.records() else 0

    cdef Py_ssize_t read(
        self, object value, int flags, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
    ) except -2:
        cdef Py_ssize_t count
        if flags & GRADIENTS and value.requires_grad:
            return GENERAL
        if self.exchange.tensor_from_object(<PyObject*>value, out) != 0:
            PyErr_Clear()  # the general call says what is wrong
            return GENERAL
        count = out.ndim
        if out.lanes != 1 or 2 * count > room:
            return GENERAL
        # DLPack has no flags for PyTorch's pending negation and conjugation of the elements.
        if not flags & MADE and (value.is_neg() or (out.code == COMPLEX and value.is_conj())):
            return GENERAL
        memcpy(lengths, out.shape, count * sizeof(int64_t))
        out.shape = lengths
        if out.strides == NULL:
            return count
        memcpy(lengths + count, out.strides, count * sizeof(int64_t))
        out.strides = lengths + count
        return 2 * count

    cdef bint set_stream(
        self, object stream, const CupolaTensor* first, cupola_op_call* call
    ) except -1:
        if stream is not None:
            return False
        if first.device_type != CUDA:
            return True
        if self.exchange.current_stream(first.device_type, first.device_id, &call.handle) != 0:
            PyErr_Clear()
            return False
        call.has_handle = 1
        return True


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
