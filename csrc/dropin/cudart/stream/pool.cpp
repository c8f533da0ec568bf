// csrc/dropin/cudart/stream/pool.cpp - allocation in the order of a stream, and managed memory of
// one.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return pointer ? d.MemAllocAsync(address_result(pointer), size, stream)
                       : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return pointer && pool
                   ? d.MemAllocFromPoolAsync(address_result(pointer), size, pool, stream)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.MemFreeAsync(device_address(pointer), stream); });
}

CUPOLA_CUDART cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer,
                                                   size_t length, unsigned flags) {
    return entry([&](const Driver& d) {
        return d.StreamAttachMemAsync(stream, device_address(pointer), length, flags);
    });
}
