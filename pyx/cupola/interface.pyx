# cupola/interface.pyx - reads __cuda_array_interface__ (versions 2 and 3) of other libraries.
# cython: language_level=3

from libc.stdint cimport uintptr_t

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_stream_handle, cupola_stream_wait,
)
from cupola.abi cimport require
from cupola.error cimport check
from cupola.event cimport Event
from cupola.stream cimport Stream, wrap_handle

from cupola.exceptions import ArgumentTypeError


cdef Interface interface_of(object value):
    found = getattr(value, "__cuda_array_interface__", None)
    if found is None:
        return None
    cdef Interface result = Interface.__new__(Interface)
    try:
        result.read(found)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"the __cuda_array_interface__ of a {type(value).__name__} can't be used: "
            f"{type(error).__name__}: {error}") from error
    return result


cdef class Interface:
    def read(self, dict found not None):
        if found["version"] < 2:
            raise ValueError(f"version {found['version']}; cupola takes 2 and 3")
        if found.get("mask") is not None:
            raise ValueError("masked arrays are not supported")
        self.shape = tuple([axis.__index__() for axis in found["shape"]])
        if min(self.shape, default=0) < 0:
            raise ValueError(f"shape {self.shape}")
        self.dtype = np.dtype(found["typestr"])
        if self.dtype.hasobject:  # its bytes would be taken for addresses of objects
            raise ValueError("a device can't hold Python objects")
        if self.dtype.kind == "V" and found.get("descr"):
            described = np.lib.format.descr_to_dtype(found["descr"])
            if described.itemsize == self.dtype.itemsize:
                self.dtype = described
        self.kind = ord(self.dtype.kind)
        self.itemsize = self.dtype.itemsize
        address, self.readonly = found["data"]
        self.address = address or 0
        self.contiguous = self.in_order(found.get("strides"))
        stream = found.get("stream") if found["version"] >= 3 else None
        self.ordered = stream is not None
        self.stream = stream or 0

    def in_order(self, strides):
        """Whether the elements follow each other, the last axis fastest."""
        expected = self.itemsize
        if strides is None or 0 in self.shape:
            return True
        for length, stride in zip(reversed(self.shape), reversed(strides), strict=True):
            if length != 1 and stride != expected:
                return False
            expected *= length
        return True

    cdef int wait_for_data(self, int device, cupola_stream* stream) except -1:
        if not self.ordered:
            return 0
        # The legacy default stream has two handles: 0 and 1.
        cdef uint64_t here = <uintptr_t>cupola_stream_handle(stream)
        cdef uint64_t there = self.stream
        if here == there or (here <= 1 and there <= 1):
            return 0
        cdef Stream other = wrap_handle(<void*><uintptr_t>there, None, device)
        cdef Event event = Event(timing=False, device=device)
        event.record_on(other)
        return check(cupola_stream_wait(stream, event.native))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
