/* cupola/tensor_map.h - descriptors by which kernels copy boxes of a tensor; part of the C ABI. */
#ifndef CUPOLA_TENSOR_MAP_H
#define CUPOLA_TENSOR_MAP_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of an element, numbered as the driver's CUtensorMapDataType. */
enum {
    CUPOLA_TENSOR_MAP_UINT8 = 0,
    CUPOLA_TENSOR_MAP_UINT16 = 1,
    CUPOLA_TENSOR_MAP_UINT32 = 2,
    CUPOLA_TENSOR_MAP_INT32 = 3,
    CUPOLA_TENSOR_MAP_UINT64 = 4,
    CUPOLA_TENSOR_MAP_INT64 = 5,
    CUPOLA_TENSOR_MAP_FLOAT16 = 6,
    CUPOLA_TENSOR_MAP_FLOAT32 = 7,
    CUPOLA_TENSOR_MAP_FLOAT64 = 8,
    CUPOLA_TENSOR_MAP_BFLOAT16 = 9,
    CUPOLA_TENSOR_MAP_FLOAT32_FTZ = 10, /* subnormal values are copied as zeros */
    CUPOLA_TENSOR_MAP_TFLOAT32 = 11,    /* values are rounded to TF32 */
    CUPOLA_TENSOR_MAP_TFLOAT32_FTZ = 12
};
enum { CUPOLA_TENSOR_MAP_AXES = 5, CUPOLA_TENSOR_MAP_BYTES = 128 };

/* A tensor in device memory and the box that one copy takes from it. Axis 0 is the innermost one:
 * its elements are contiguous. */
typedef struct cupola_tensor_map_request {
    uint64_t address; /* a multiple of 16 */
    int type;
    unsigned axes;                            /* 1 to CUPOLA_TENSOR_MAP_AXES */
    uint64_t sizes[CUPOLA_TENSOR_MAP_AXES];   /* elements of the tensor */
    uint64_t strides[CUPOLA_TENSOR_MAP_AXES]; /* bytes between neighbours; strides[0] is not read */
    uint32_t box[CUPOLA_TENSOR_MAP_AXES];     /* elements of a box, 1 to 256 */
    uint32_t steps[CUPOLA_TENSOR_MAP_AXES];   /* every steps[n]-th element is copied, 1 to 8 */
    unsigned swizzle;   /* 0, 32, 64 or 128 bytes: how a box is permuted in shared memory */
    unsigned promotion; /* 0, 64, 128 or 256 bytes: what the L2 cache reads at once */
    int fill_nan;       /* elements outside of the tensor are NaN, not zero */
} cupola_tensor_map_request;

/* Writes the driver's CUtensorMap, CUPOLA_TENSOR_MAP_BYTES, which a kernel takes by value. The
 * device must have compute capability 9.0 or newer. The caller keeps the memory. */
CUPOLA_API int cupola_tensor_map_encode(int device, const cupola_tensor_map_request* request,
                                        void* out);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_TENSOR_MAP_H */
