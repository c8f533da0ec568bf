# cupola/dlpack.pxd - tensors by DLPack, taken and given; internal.

from libc.stdint cimport uint64_t

# A tensor of another library, which is told when nobody needs it any more.
cdef class Tensor:
    cdef void* managed
    cdef bint versioned
    cdef object source  # what gave it
    cdef uint64_t address
    cdef tuple shape
    cdef tuple strides  # in bytes; None: C order
    cdef object dtype
    cdef bint readonly
    cdef int device_type
    cdef int device

# Whether it is a tensor that could lie in a device's memory.
cdef bint has_dlpack(object value)
# The tensor, its data in order with this thread's current stream of its device; `copy` as in the
# protocol.
cdef Tensor tensor_of(object value, object copy=*)

# DLPack's number of the kind of memory at an address of ours.
cdef int device_type_of(uint64_t address, int device) except -1
# A capsule for another library; strides are in bytes.
cdef object capsule_of(
    object owner, uint64_t address, tuple shape, tuple strides, object dtype, int device_type,
    int device, bint readonly, bint copied, bint versioned, object wanted)
# Lets the consumer's stream wait for this thread's current one.
cdef int prepare_for(object stream, int device_type, int device) except -1
