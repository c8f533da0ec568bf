# cupola/transfer.pyx - In, Out, InOut: host arrays that are copied around one kernel call.
# cython: language_level=3
"""Host arrays as kernel arguments."""

from libc.stdint cimport uint64_t

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_copy_to_device, cupola_copy_to_host,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.array cimport Array, host_address, is_pinned
from cupola.element cimport is_native, native_array, native_dtype
from cupola.error cimport check
from cupola.memory cimport allocate
from cupola.stream cimport captures

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["In", "InOut", "Out"]


cdef class Transfer:
    """The base class of `In`, `Out` and `InOut`."""

    def __init__(self):
        raise TypeError("use cupola.In, cupola.Out or cupola.InOut")

    cdef Memory begin(self, int device, Stream stream):
        if captures(stream, None):
            raise ArgumentTypeError(
                f"cupola.{type(self).__name__} copies around one call and can't be captured: call "
                "cupola.to_device(array) before the capture, and let the graph copy with Array.set "
                "and Array.get")
        cdef Memory memory = allocate(device, self.array.nbytes, stream)
        cdef uint64_t source
        if self.inward:
            host = native_array(self.array)
            source = host_address(host)
            with nogil:
                check(cupola_copy_to_device(
                    memory.address, <void*>source, memory.nbytes, stream.native))
        return memory

    cdef int end(self, Memory memory, Stream stream) except -1:
        cdef uint64_t target
        if self.outward:
            host = self.array
            if self.swapped:
                host = np.empty(host.shape, native_dtype(host.dtype))
            target = host_address(host)
            with nogil:
                check(cupola_copy_to_host(
                    <void*>target, memory.address, memory.nbytes, stream.native))
                if self.swapped:
                    stream.wait_done()
            if self.swapped:
                self.array[...] = host
        # Copies of page-locked memory are asynchronous: the call has to wait.
        return self.outward or is_pinned(host_address(self.array))

    def __repr__(self):
        return (
            f"<cupola.{type(self).__name__} shape={self.array.shape} dtype={self.array.dtype}>")


cdef int hold(Transfer self, object array) except -1:
    if array.dtype.hasobject:
        raise ArgumentTypeError(
            f"cupola.{type(self).__name__}: a device can't hold Python objects")
    self.array = array
    self.kind = ord(array.dtype.kind)
    self.itemsize = array.dtype.itemsize
    self.swapped = not is_native(array.dtype)
    return 0


cdef int require_host(Transfer self, object array) except -1:
    if isinstance(array, Array):
        raise ArgumentTypeError(
            f"cupola.{type(self).__name__} copies a host array, got a cupola.Array, which is in "
            "device memory: pass the array itself")
    return 0


cdef object writable(Transfer self, object array):
    """Check that a kernel's results can be written to the array itself."""
    name = f"cupola.{type(self).__name__}"
    require_host(self, array)
    if not isinstance(array, np.ndarray):
        try:
            array = np.asarray(memoryview(array))
        except TypeError:
            raise ArgumentTypeError(
                f"{name} takes a NumPy array or another writable buffer, got "
                f"{type(array).__name__}") from None
    if not array.flags.writeable:
        raise ArgumentValueError(f"{name}: the array is read-only")
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"{name}: the array is not C-contiguous (shape {array.shape}, strides "
            f"{array.strides}); pass y = numpy.ascontiguousarray(array), and assign "
            "array[...] = y after the call")
    return array


cdef class In(Transfer):
    """A host array that a kernel reads: copied to the device before the call.

    Parameters
    ----------
    array : array_like
        Read when the kernel is called. An array that is not C-contiguous is copied here. The
        kernel gets the machine's byte order.
    """

    def __init__(self, array):
        self.inward = True
        require_host(self, array)
        hold(self, np.asarray(array, order="C"))


cdef class Out(Transfer):
    """A host array that a kernel fills: copied from the device after the call, which waits.

    Elements that the kernel does not write are undefined afterwards; see `InOut`.

    Parameters
    ----------
    array : numpy.ndarray or writable buffer
        C-contiguous, in any byte order: the kernel has the machine's.
    """

    def __init__(self, array):
        self.outward = True
        hold(self, writable(self, array))


cdef class InOut(Transfer):
    """A host array that a kernel changes: copied before and after the call, which waits.

    Parameters
    ----------
    array : numpy.ndarray or writable buffer
        C-contiguous, in any byte order: the kernel has the machine's.
    """

    def __init__(self, array):
        self.inward = self.outward = True
        hold(self, writable(self, array))


document_attributes(Transfer, {
    "array": "The host array, a C-contiguous `numpy.ndarray`.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
