/* cupola/tensor.h - tensors exchanged by DLPack; part of the C ABI. */
#ifndef CUPOLA_TENSOR_H
#define CUPOLA_TENSOR_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The checked contents of a DLPack tensor; lengths and strides are in elements. Device types and
 * type codes are DLPack's numbers. */
typedef struct cupola_tensor {
    uint64_t address; /* of the first element */
    int32_t device_type, device;
    int32_t ndim;
    uint8_t code, bits;
    uint8_t read_only, copied;
    const int64_t* shape;
    const int64_t* strides; /* NULL: C order */
} cupola_tensor;
/* Reads a DLManagedTensor or DLManagedTensorVersioned. Keep it alive as long as `out` is used. */
CUPOLA_API int cupola_tensor_read(const void* managed, int versioned, cupola_tensor* out);
/* Makes one. `release(owner)` is called when its consumer deletes it, on any thread. Shape and
 * strides are copied. */
CUPOLA_API int cupola_tensor_make(const cupola_tensor* tensor, int versioned, void* owner,
                                  void (*release)(void*), void** managed);
/* The consumer calls this at the end. */
CUPOLA_API void cupola_tensor_delete(void* managed, int versioned);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_TENSOR_H */
