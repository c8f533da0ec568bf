// csrc/dropin/cudart/stream.cpp - streams are created and destroyed.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return entry([&](const Driver& d) {
        return stream ? d.StreamCreate(stream, CU_STREAM_DEFAULT) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return entry([&](const Driver& d) {
        return stream ? d.StreamCreate(stream, flags) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                       int priority) {
    return entry([&](const Driver& d) {
        return stream ? d.StreamCreateWithPriority(stream, flags, priority)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.StreamDestroy(stream); });
}
