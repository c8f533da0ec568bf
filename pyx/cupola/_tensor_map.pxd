# cupola/_tensor_map.pxd - cupola/tensor_map.h; internal.

from libc.stdint cimport uint32_t, uint64_t

cdef extern from "cupola/tensor_map.h" nogil:
    enum:
        CUPOLA_TENSOR_MAP_UINT8
        CUPOLA_TENSOR_MAP_UINT16
        CUPOLA_TENSOR_MAP_UINT32
        CUPOLA_TENSOR_MAP_INT32
        CUPOLA_TENSOR_MAP_UINT64
        CUPOLA_TENSOR_MAP_INT64
        CUPOLA_TENSOR_MAP_FLOAT16
        CUPOLA_TENSOR_MAP_FLOAT32
        CUPOLA_TENSOR_MAP_FLOAT64
        CUPOLA_TENSOR_MAP_BFLOAT16
        CUPOLA_TENSOR_MAP_FLOAT32_FTZ
        CUPOLA_TENSOR_MAP_TFLOAT32
        CUPOLA_TENSOR_MAP_TFLOAT32_FTZ
        CUPOLA_TENSOR_MAP_AXES
        CUPOLA_TENSOR_MAP_BYTES

    ctypedef struct cupola_tensor_map_request:
        uint64_t address
        int type
        unsigned axes
        uint64_t sizes[5]
        uint64_t strides[5]
        uint32_t box[5]
        uint32_t steps[5]
        unsigned swizzle
        unsigned promotion
        int fill_nan

    int cupola_tensor_map_encode(int device, const cupola_tensor_map_request* request, void* out)
