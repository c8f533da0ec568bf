# cupola/tensor_map.pxd - descriptors by which kernels copy boxes of an array.

from cupola._argument cimport ArrayDescriptor

cdef class TensorMap(ArrayDescriptor):
    cdef unsigned char encoded[128]  # the driver's CUtensorMap
    cdef readonly tuple box
    cdef readonly tuple steps
    cdef readonly str elements
    cdef readonly int swizzle
    cdef readonly int promotion
    cdef readonly str fill
