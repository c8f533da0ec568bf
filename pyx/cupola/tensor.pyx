# cupola/tensor.pyx - imports tensors of other libraries by DLPack, and exports arrays.
# cython: language_level=3
cimport cython
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
    PyCapsule_New, PyCapsule_SetName,
)
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport strcmp

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_describe, cupola_address_info,
    cupola_stream_wait, cupola_tensor,
    cupola_tensor_delete, cupola_tensor_make, cupola_tensor_read,
)
from cupola._callback cimport drop
from cupola.abi cimport require
from cupola.array_data cimport ArrayData
from cupola.device cimport device_index, is_cpu
from cupola.error cimport check
from cupola.event cimport Event
from cupola.layout cimport MAX_AXES
from cupola.stream cimport Stream, current_stream, require_contents, wrap_handle

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ExchangeError

include "element_types.pxi"

# DLPack's type codes by NumPy's letter.
cdef dict CODES = {letter: code for code, letter in LETTERS.items()}
# Types that ml_dtypes adds to NumPy, by DLPack's code.
cdef dict NAMES = {
    code: name for name, (code, bits) in ELEMENT_TYPES.items() if code not in LETTERS}
cdef dict NAMED = {name: code for code, name in NAMES.items()}


# -- import ---------------------------------------------------------------------------------------


cdef bint has_dlpack(object value):
    if not hasattr(value, "__dlpack__"):
        return False
    try:
        kind = value.__dlpack_device__()[0]
    except Exception:
        return True  # the error is raised when the tensor is imported
    return kind != CPU or isinstance(value, ArrayData) or not hasattr(value, "__array__")


cdef object dtype_of(int code, int bits):
    if code in LETTERS:
        letter = LETTERS[code]
        if letter == "b" and bits == 8:
            return np.dtype(np.bool_)
        try:
            return np.dtype(f"{letter}{bits // 8}")
        except TypeError:
            pass
    elif code in NAMES:
        try:
            import ml_dtypes
        except ImportError:
            raise ExchangeError(
                f"a DLPack tensor of {NAMES[code]}: install ml_dtypes, which adds the type to NumPy"
            ) from None
        if hasattr(ml_dtypes, NAMES[code]):
            return np.dtype(getattr(ml_dtypes, NAMES[code]))
    raise ExchangeError(f"a DLPack tensor of type code {code} and {bits} bits has no NumPy dtype")


cdef class Tensor:
    def __cinit__(self):
        self.managed = NULL

    def __dealloc__(self):
        # The deleter is the producer's code: it expects the GIL and no pending exception.
        cupola_tensor_delete(self.managed, self.versioned)


cdef void* take(object capsule, bint* versioned) except NULL:
    """The tensor of a capsule, which is renamed: of several threads, one takes the tensor."""
    cdef void* managed = NULL
    cdef const char* name
    with cython.critical_section(capsule):
        versioned[0] = PyCapsule_IsValid(capsule, b"dltensor_versioned")
        if versioned[0] or PyCapsule_IsValid(capsule, b"dltensor"):
            managed = PyCapsule_GetPointer(capsule, name_of(versioned[0]))
            PyCapsule_SetName(
                capsule, b"used_dltensor_versioned" if versioned[0] else b"used_dltensor")
            return managed
        name = PyCapsule_GetName(capsule)
    said = "none" if name == NULL else repr((<bytes>name).decode("utf-8", "replace"))
    raise ExchangeError(
        "a DLPack capsule's name is 'dltensor' or 'dltensor_versioned', and it can be taken "
        f"once; this one's is {said}")


cdef inline const char* name_of(bint versioned) noexcept:
    return b"dltensor_versioned" if versioned else b"dltensor"


cdef int describe(Tensor tensor, void* managed) except -1:
    """Check the tensor, and note its description."""
    cdef cupola_tensor found
    cdef Py_ssize_t axis
    check(cupola_tensor_read(managed, tensor.versioned, &found))
    tensor.dtype = dtype_of(found.code, found.bits)
    tensor.address = found.address
    tensor.shape = tuple([found.shape[axis] for axis in range(found.ndim)])
    if found.strides != NULL:
        tensor.strides = tuple(
            [found.strides[axis] * <int64_t>tensor.dtype.itemsize for axis in range(found.ndim)])
    tensor.readonly = found.read_only
    tensor.device_type = found.device_type
    tensor.device = found.device
    return 0


cdef Tensor unpack(object capsule):
    """Check a capsule's tensor and take ownership of it. A refused tensor stays the capsule's."""
    cdef Tensor tensor = Tensor.__new__(Tensor)
    cdef void* managed
    if not PyCapsule_CheckExact(capsule):
        raise ExchangeError(f"__dlpack__ returned a {type(capsule).__name__}, not a capsule")
    managed = take(capsule, &tensor.versioned)
    try:
        describe(tensor, managed)
    except BaseException:
        with cython.critical_section(capsule):
            PyCapsule_SetName(capsule, name_of(tensor.versioned))
        raise
    tensor.managed = managed  # from here on, this object deletes the tensor
    return tensor


cdef object ask(object value, dict asked):
    """Request a capsule, of the newest version that the producer supports."""
    try:
        return value.__dlpack__(max_version=(1, 0), **asked)
    except TypeError:  # a producer older than DLPack 1.0
        if asked.get("copy") is not None:
            raise ExchangeError(
                f"a {type(value).__name__} is older than DLPack 1.0 and does not support copy=: "
                "leave it out, or update that library") from None
        asked.pop("copy", None)
        return value.__dlpack__(**asked)


cdef Tensor tensor_of(object value, object copy=None, int device=-1):
    cdef Tensor tensor
    cdef dict asked = {}
    cdef uintptr_t handle
    try:
        kind, number = value.__dlpack_device__()
        kind, number = int(kind), int(number)
    except (AttributeError, TypeError, ValueError) as error:
        raise ExchangeError(
            f"the __dlpack_device__() of a {type(value).__name__} can't be used: {error}"
        ) from error
    if kind not in (CUDA, CUDA_HOST, CUDA_MANAGED) and not (
        kind == CPU and is_cpu(device_index(None) if device < 0 else device)
    ):
        raise ExchangeError(
            f"a {type(value).__name__} in memory of DLPack's device type {kind}, which is not the "
            "device's; cupola.to_device copies host arrays")
    if kind != CPU:
        number = device_index(number if kind != CUDA_HOST else None)
        # DLPack's 0 is no stream; the legacy default stream is 1.
        handle = <uintptr_t>current_stream(number).get_handle()
        asked["stream"] = handle or 1
    if copy is not None:
        asked["copy"] = bool(copy)
    tensor = unpack(ask(value, asked))
    if tensor.device_type != kind:
        raise ExchangeError(
            f"a {type(value).__name__} is of DLPack's device type {kind} and gave a tensor of "
            f"type {tensor.device_type}")
    tensor.source = value
    return tensor


# -- export ---------------------------------------------------------------------------------------


cdef int device_type_of(uint64_t address, int device) except -1:
    cdef cupola_address_info info
    if is_cpu(device):
        return CPU
    check(cupola_address_describe(address, &info))
    return CUDA_MANAGED if info.managed else CUDA_HOST if info.host else CUDA


cdef void end_capsule(object capsule) noexcept:
    """Delete the tensor of a capsule that no consumer took."""
    cdef const char* name = PyCapsule_GetName(capsule)
    if name != NULL and strcmp(name, b"dltensor") == 0:
        cupola_tensor_delete(PyCapsule_GetPointer(capsule, name), False)
    elif name != NULL and strcmp(name, b"dltensor_versioned") == 0:
        cupola_tensor_delete(PyCapsule_GetPointer(capsule, name), True)


cdef object capsule_of(
    object owner, uint64_t address, tuple shape, tuple strides, object dtype, int device_type,
    int device, bint readonly, bint copied, bint versioned, object wanted
):
    cdef cupola_tensor tensor
    cdef int64_t lengths[MAX_AXES]
    cdef int64_t steps[MAX_AXES]
    cdef Py_ssize_t axis, itemsize = dtype.itemsize
    cdef void* managed = NULL
    cdef int status
    if wanted is not None and tuple(wanted) != (device_type, device):
        raise ExchangeError(
            f"the array lies on DLPack's device {(device_type, device)} and is not copied to "
            f"{tuple(wanted)}: use get() for the host")
    code = NAMED.get(dtype.name, CODES.get(dtype.kind))
    if code is None or not dtype.isnative:
        raise ExchangeError(f"DLPack has no type for elements of {dtype}: use view()")
    for axis in range(len(shape)):
        lengths[axis] = shape[axis]
        if strides[axis] % itemsize and shape[axis] > 1:
            raise ExchangeError(
                f"a stride of {strides[axis]} bytes is not a multiple of the element's {itemsize} "
                "bytes, as DLPack requires: use copy()")
        steps[axis] = strides[axis] // itemsize
    tensor.address = address
    tensor.device_type = device_type
    tensor.device = device
    tensor.ndim = <int>len(shape)
    tensor.code = code
    tensor.bits = itemsize * 8
    tensor.read_only = readonly
    tensor.copied = copied
    tensor.shape = lengths
    tensor.strides = steps
    Py_INCREF(owner)
    status = cupola_tensor_make(&tensor, versioned, <PyObject*>owner, drop, &managed)
    if status != 0:
        Py_DECREF(owner)
        try:
            check(status)
        except ArgumentValueError as error:
            raise ExchangeError(str(error)) from None
    try:
        return PyCapsule_New(
            managed, b"dltensor_versioned" if versioned else b"dltensor", &end_capsule)
    except BaseException:
        cupola_tensor_delete(managed, versioned)
        raise


cdef int prepare_for(object stream, uint64_t address, int device_type, int device) except -1:
    cdef Stream here = current_stream(device)
    cdef Stream there
    cdef Event event
    require_contents(here, address)
    if stream is not None and (isinstance(stream, bool) or not hasattr(stream, "__index__")):
        raise ArgumentTypeError(f"a DLPack stream is an int or None, got {stream!r}")
    if stream is not None and stream == -1:
        return 0
    if device_type == CPU:
        if stream is not None:
            raise ArgumentValueError(
                f"memory of the CPU device is the host's: there is no stream {stream} to wait")
        with nogil:
            here.wait_done()
        return 0
    if stream is not None and (stream <= 0 or stream.__index__() >> 64):
        raise ArgumentValueError(
            f"a DLPack stream is 1, 2, -1 or a stream's handle, got {stream}")
    cdef uintptr_t handle = 1 if stream is None else stream
    cdef uintptr_t mine = <uintptr_t>here.get_handle()
    if handle == mine or (handle == 1 and mine == 0):
        return 0
    there = wrap_handle(<void*>handle, None, device)
    event = Event(timing=False, device=device)
    event.record_on(here)
    return check(cupola_stream_wait(there.native, event.native))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
