# cupola/tensor.pxd - imports and exports tensors by DLPack; internal.

from libc.stdint cimport uint64_t

# DLPack's codes of kinds of devices.
cdef enum DeviceType:
    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    CUDA_MANAGED = 13

# A tensor of another library; its deleter is called when it is no longer needed.
cdef class Tensor:
    cdef void* managed
    cdef bint versioned
    cdef object source  # the object that exported it
    cdef uint64_t address
    cdef tuple shape
    cdef tuple strides  # in bytes; None: C order
    cdef object dtype
    cdef bint readonly
    cdef int device_type
    cdef int device

# Whether it is a tensor that may be in device memory.
cdef bint has_dlpack(object value)
# Imports the tensor; this thread's current stream of its device waits for the data. `copy` is as in
# the protocol. Host memory is accepted for the CPU device; `device` names it, or is -1 for the
# current device.
cdef Tensor tensor_of(object value, object copy=*, int device=*)

# DLPack's device type for an address of cupola's.
cdef int device_type_of(uint64_t address, int device) except -1
# Exports a capsule for another library; strides are in bytes.
cdef object capsule_of(
    object owner, uint64_t address, tuple shape, tuple strides, object dtype, int device_type,
    int device, bint readonly, bint copied, bint versioned, object wanted)
# Lets the consumer's stream wait for this thread's current stream, which has made the data.
cdef int prepare_for(object stream, uint64_t address, int device_type, int device) except -1
