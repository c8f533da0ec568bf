# cupola/_dlpack.pxd - DLPack's structures, by its specification; internal.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    """
    #ifndef CUPOLA_DLPACK
    #define CUPOLA_DLPACK
    struct CupolaTensor {
        void* data;
        int32_t device_type, device_id, ndim;
        uint8_t code, bits;
        uint16_t lanes;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    };
    /* The C functions that a class offers as __dlpack_c_exchange_api__, since DLPack 1.3. */
    struct CupolaExchange {
        uint32_t major, minor;
        CupolaExchange* previous;
        void* allocate;
        void* managed_from_object;
        void* object_from_managed;
        int (*tensor_from_object)(void* object, CupolaTensor* out);
        int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
    };
    #endif
    """
    cdef struct CupolaTensor:
        void* data
        int32_t device_type
        int32_t device_id
        int32_t ndim
        uint8_t code
        uint8_t bits
        uint16_t lanes
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset

    cdef struct CupolaExchange:
        uint32_t major
        uint32_t minor
        CupolaExchange* previous
        int (*tensor_from_object)(void* object, CupolaTensor* out)
        int (*current_stream)(int32_t device_type, int32_t device_id, void** out)

cdef enum DeviceType:
    CPU = 1
    CUDA = 2
    CUDA_MANAGED = 13
