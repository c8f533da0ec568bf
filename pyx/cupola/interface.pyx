# cupola/interface.pyx - reads other libraries' device memory.
#
# Memory is read by __cuda_array_interface__, or else by DLPack. All versions of the interface are
# read in the same way: RMM, whose buffers UCX fills, still has version 0.
# cython: language_level=3

from libc.stdint cimport uintptr_t

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_device, cupola_address_find,
    cupola_captures,
    cupola_stream_follow,
)
from cupola.abi cimport require
from cupola.array_data cimport lay
from cupola.device cimport device_index
from cupola.element cimport is_direct
from cupola.error cimport check
from cupola.layout cimport bytes_of, is_c_contiguous
from cupola.stream cimport current_stream
from cupola.tensor cimport Tensor, has_dlpack, tensor_of

from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError


cdef Interface interface_of(object value, int device=-1):
    cdef Interface result = Interface.__new__(Interface)
    what = "__cuda_array_interface__"
    try:
        found = getattr(value, what, None)
        if found is not None:
            result.owner = value
            result.read(found)
            if found["version"] < 3 and result.address and not cupola_captures():
                order_by_dlpack(result, value)
            return result
        what = "__dlpack__"
        if not hasattr(value, what):
            return None
        result.take_tensor(tensor_of(value, None, device), device)
        return result
    except (
        ArgumentError, AttributeError, BufferError, KeyError, OverflowError, RuntimeError,
        TypeError, ValueError,
    ) as error:
        name = "" if isinstance(error, ArgumentError) else f"{type(error).__name__}: "
        raise ArgumentTypeError(
            f"the {what} of a {type(value).__name__} can't be used: {name}{error}") from error


cdef int order_by_dlpack(Interface interface, object value) except -1:
    """Order the data by DLPack, since versions before 3 (PyTorch, JAX) name no stream.

    Without DLPack the caller is responsible for the order, as these versions specify.
    """
    cdef int device = -1
    if not hasattr(value, "__dlpack__"):
        return 0
    try:
        tensor = tensor_of(value)
    except (ArgumentError, BufferError, RuntimeError, TypeError, ValueError):
        return 0
    check(cupola_address_device(interface.address, &device))
    if device < 0:
        return 0
    interface.owner = tensor
    interface.ordered = True
    interface.stream = <uintptr_t>current_stream(device).get_handle()
    return 0


cdef class Interface:
    def read(self, dict found not None):
        if found.get("mask") is not None:
            raise ValueError("masked arrays are not supported")
        self.shape = tuple([axis.__index__() for axis in found["shape"]])
        if min(self.shape, default=0) < 0:
            raise ValueError(f"shape {self.shape}")
        self.dtype = np.dtype(found["typestr"])
        if self.dtype.hasobject:  # the kernel would read addresses of Python objects as numbers
            raise ValueError("a device can't hold Python objects")
        if self.dtype.kind == "V" and found.get("descr"):
            described = np.lib.format.descr_to_dtype(found["descr"])
            if described.itemsize == self.dtype.itemsize:
                self.dtype = described
        address, self.readonly = found["data"]
        self.address = address or 0
        strides = found.get("strides")
        if strides is not None:
            self.strides = tuple([stride.__index__() for stride in strides])
            if len(self.strides) != len(self.shape):
                raise ValueError(f"strides {self.strides} for shape {self.shape}")
        self.derive_layout()
        stream = found.get("stream") if found["version"] >= 3 else None
        if stream is not None and stream == 0:
            raise ValueError("stream 0 is ambiguous; the default streams are 1 and 2")
        self.ordered = stream is not None
        self.stream = stream or 0

    def take_tensor(self, Tensor tensor not None, int near):
        """Take over DLPack's description; its data is ready on the device's current stream."""
        cdef int device = -1
        self.owner = tensor
        self.shape = tensor.shape
        self.strides = tensor.strides
        self.dtype = tensor.dtype
        self.address = tensor.address
        self.readonly = tensor.readonly
        self.derive_layout()
        if self.address:
            check(cupola_address_find(self.address, near, &device))
            if device < 0:
                raise ValueError(
                    "it is host memory that the driver does not know; cupola.to_device copies it, "
                    "cupola.from_dlpack shares it with the CPU device")
            self.ordered = True
            self.stream = <uintptr_t>current_stream(device).get_handle()

    def derive_layout(self):
        self.kind = ord(self.dtype.kind)
        self.itemsize = self.dtype.itemsize
        self.contiguous = is_c_contiguous(self.shape, self.strides, self.itemsize)
        self.direct = self.contiguous and is_direct(
            self.dtype, self.address, bytes_of(self.shape, self.itemsize))

    cdef int wait_for_data(self, cupola_stream* stream) except -1:
        if not self.ordered:
            return 0
        with nogil:  # may block: either stream may be full
            return check(cupola_stream_follow(stream, <void*><uintptr_t>self.stream))


cdef bint is_foreign(object source):
    return hasattr(source, "__cuda_array_interface__") or (
        not isinstance(source, np.ndarray) and has_dlpack(source))


cdef ArrayData foreign_array(object source):
    cdef Interface interface = interface_of(source)
    cdef int device = device_index(None)
    if interface is None:
        raise ArgumentTypeError(
            f"a {type(source).__name__} is not in a device's memory; cupola.to_device copies it")
    if interface.address:
        check(cupola_address_device(interface.address, &device))
        if device < 0:
            raise ArgumentValueError(
                f"the driver does not know the address {interface.address:#x} of this "
                f"{type(source).__name__}")
    interface.wait_for_data(current_stream(device).native)
    cdef ArrayData array = lay(
        interface.shape, interface.strides, interface.dtype, None, interface.owner,
        interface.address, device)
    array.readonly = interface.readonly
    return array


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
