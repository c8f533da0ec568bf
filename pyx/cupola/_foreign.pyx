# cupola/_foreign.pyx - reads arrays of other libraries fast, for launches.
#
# An array is read by the C functions that its type offers since DLPack 1.3, by CuPy's attributes,
# or else by __cuda_array_interface__.
# cython: language_level=3

cimport cython
from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject, Py_TYPE
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport int64_t, uint64_t, uintptr_t

import sys

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_device_count, cupola_driver_beside,
    cupola_driver_loaded, cupola_stream_handle,
)
from cupola._dlpack cimport CUDA, CUDA_MANAGED, CupolaExchange, CupolaTensor
from cupola.abi cimport require
from cupola.error cimport check
from cupola._free_threading cimport FREE_THREADED, load, store

# NumPy's letters for DLPack's codes: integers, floats, (handles,) bfloat16, complex, bool.
cdef char* LETTERS = b"iuf\0Vcb"

# The last types seen. The list is short, because a longer list would keep many classes alive.
cdef enum:
    KEPT = 8

# CuPy's arrays, or NULL. CuPy needs ten times as long to make `__cuda_array_interface__` as this
# module needs to read it.
cdef PyObject* CUPY = NULL
cdef StreamFunction cupy_stream = NULL
cdef dict DTYPES = {}

cdef PyObject* TYPES[KEPT]  # owned
cdef CupolaExchange* EXCHANGES[KEPT]
cdef int place = 0
cdef int devices = 0

# Kind and size of the elements by their names in the interface.
cdef dict ELEMENTS = {
    np.dtype(name).str: (ord(np.dtype(name).kind), np.dtype(name).itemsize)
    for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}


cdef StreamFunction cupy_stream_of(type kind) except? NULL:
    if kind.__module__ != "cupy" or kind is not getattr(sys.modules["cupy"], "ndarray", None):
        return NULL
    offered = getattr(sys.modules.get("cupy_backends.cuda.stream"), "__pyx_capi__", {})
    capsule = offered.get("get_current_stream_ptr")
    if not PyCapsule_IsValid(capsule, "intptr_t (void)"):
        return NULL
    return <StreamFunction>PyCapsule_GetPointer(capsule, "intptr_t (void)")


cdef int find_cupy(type kind) except -1:
    global cupy_stream
    cdef StreamFunction found = cupy_stream_of(kind)
    if found == NULL:
        return 0
    for name, element in ELEMENTS.items():
        DTYPES[np.dtype(name)] = element
    Py_INCREF(kind)
    cupy_stream = found
    store(CUPY, <PyObject*>kind)
    return 0


cdef CupolaExchange* exchange_of(type kind) except? NULL:
    cdef CupolaExchange* exchange = NULL
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is not None and PyCapsule_IsValid(capsule, "dlpack_exchange_api"):
        exchange = <CupolaExchange*>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
        while exchange != NULL and exchange.major != 1:
            exchange = exchange.previous
        if exchange != NULL and (
            exchange.tensor_from_object == NULL or exchange.current_stream == NULL
        ):
            exchange = NULL
    return exchange


cdef int remember(type kind) except -1:
    global place
    cdef CupolaExchange* exchange
    cdef PyObject* replaced
    cdef int i, count = 0
    if not load(devices) and cupola_driver_loaded():
        check(cupola_device_count(&count))
        store(devices, count)
    for i in range(KEPT):
        if load(TYPES[i]) == <PyObject*>kind:
            return 0
    if load(CUPY) == NULL:
        find_cupy(kind)
    exchange = exchange_of(kind)
    Py_INCREF(kind)
    with cython.critical_section(ELEMENTS):
        replaced = TYPES[place]
        # In this order, no reader takes the function of one type for another type.
        store(TYPES[place], <PyObject*>NULL)
        store(EXCHANGES[place], exchange)
        store(TYPES[place], <PyObject*>kind)
        place = (place + 1) % KEPT
    Py_XDECREF(replaced)
    return 0


cdef bint try_read(object value, int device, cupola_stream* stream, Foreign* out) except -1:
    cdef int i
    cdef PyObject* kind = <PyObject*>Py_TYPE(value)
    cdef CupolaExchange* exchange
    if kind == load(CUPY):
        return attributed(value, device, stream, out)
    for i in range(KEPT):
        if load(TYPES[i]) == kind:
            exchange = load(EXCHANGES[i])
            if FREE_THREADED and load(TYPES[i]) != kind:
                return False  # `remember` has just replaced it
            if exchange != NULL:
                return exchanged(exchange, value, device, stream, out)
            return described(value, device, stream, out)
    return False


cdef bint in_order(const CupolaTensor* tensor):
    cdef int64_t expected = 1
    cdef int axis
    if tensor.strides == NULL:
        return True
    for axis in range(tensor.ndim - 1, -1, -1):
        if tensor.shape[axis] == 0:
            return True
        if tensor.shape[axis] != 1 and tensor.strides[axis] != expected:
            return False
        expected *= tensor.shape[axis]
    return True


cdef bint exchanged(
    CupolaExchange* exchange, object value, int device, cupola_stream* stream, Foreign* out
) except -1:
    cdef CupolaTensor tensor
    cdef void* theirs = NULL
    if exchange.tensor_from_object(<PyObject*>value, &tensor) != 0:
        PyErr_Clear()  # asked again, it says why
        return False
    if tensor.device_type != CUDA and tensor.device_type != CUDA_MANAGED:
        return False
    if tensor.device_id != device or tensor.lanes != 1 or tensor.code >= 7 or tensor.bits % 8:
        return False
    if LETTERS[tensor.code] == 0 or not in_order(&tensor):
        return False
    if exchange.current_stream(tensor.device_type, tensor.device_id, &theirs) != 0:
        PyErr_Clear()
        return False
    out.address = <uint64_t>tensor.data + tensor.byte_offset
    out.kind = LETTERS[tensor.code]
    out.itemsize = tensor.bits // 8
    note_order(out, <uintptr_t>theirs, stream)
    return True


cdef bint attributed(
    object value, int device, cupola_stream* stream, Foreign* out
) except -1:
    """Read the values of CuPy's interface from the attributes behind it."""
    element = DTYPES.get(value.dtype)
    if element is None or value._c_contiguous is not True:
        return False
    data = value.data
    if (devices != 1 or device != 0) and data.device_id != device:
        return False
    out.address = data.ptr
    out.kind = (<tuple>element)[0]
    out.itemsize = (<tuple>element)[1]
    note_order(out, cupy_stream(), stream)
    return True


cdef bint described(
    object value, int device, cupola_stream* stream, Foreign* out
) except -1:
    # Otherwise the driver has to say whose memory it is.
    if devices != 1 or device != 0 or cupola_driver_beside():
        return False
    cdef dict item
    interface = getattr(value, "__cuda_array_interface__", None)
    if type(interface) is not dict:
        return False
    item = <dict>interface
    element = ELEMENTS.get(item.get("typestr"))
    data, version = item.get("data"), item.get("version")
    if element is None or type(data) is not tuple or len(<tuple>data) != 2:
        return False
    if type((<tuple>data)[0]) is not int or (<tuple>data)[1] is not False:
        return False
    if not 0 <= (<tuple>data)[0] < 1 << 64 or type(item.get("shape")) is not tuple:
        return False
    if type(version) is not int or version < 2:
        return False
    if version < 3 and hasattr(value, "__dlpack__"):  # DLPack provides an order, version 2 does not
        return False
    if item.get("strides") is not None or item.get("mask") is not None:
        return False
    theirs = item.get("stream") if version >= 3 else None
    out.ordered = False
    if theirs is not None:
        if type(theirs) is not int or not 0 < theirs < 1 << 64:
            return False
        note_order(out, theirs, stream)
    out.address = (<tuple>data)[0]
    out.kind = (<tuple>element)[0]
    out.itemsize = (<tuple>element)[1]
    return True


cdef inline void note_order(Foreign* out, uint64_t there, cupola_stream* stream) noexcept:
    # The legacy default stream has two handles: 0 and 1.
    cdef uint64_t here = <uintptr_t>cupola_stream_handle(stream)
    out.stream = there or 1
    out.ordered = here != there and (here > 1 or there > 1)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
