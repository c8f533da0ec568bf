// csrc/dropin/cudart/stream/stream.cpp - what a stream has done, what it waits for, and its
// attributes.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.StreamSynchronize(stream); });
}

CUPOLA_CUDART cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.StreamQuery(stream); });
}

CUPOLA_CUDART cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                              unsigned flags) {
    return entry([&](const Driver& d) { return d.StreamWaitEvent(stream, event, flags); });
}

CUPOLA_CUDART cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                void* data, unsigned flags) {
    // The two kinds of callback differ in the enumeration of the status alone.
    return entry([&](const Driver& d) {
        return callback ? d.StreamAddCallback(stream, reinterpret_cast<CUstreamCallback>(callback),
                                              data, flags)
                        : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return entry([&](const Driver& d) {
        return priority ? d.StreamGetPriority(stream, priority) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return entry([&](const Driver& d) {
        return flags ? d.StreamGetFlags(stream, flags) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return entry(
        [&](const Driver& d) { return id ? d.StreamGetId(stream, id) : CUDA_ERROR_INVALID_VALUE; });
}

CUPOLA_CUDART cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* ordinal) {
    return entry([&](const Driver& d) {
        if (!ordinal) return CUDA_ERROR_INVALID_VALUE;
        CUdevice device = 0;
        const CUresult result = d.StreamGetDevice(stream, &device);
        if (result == CUDA_SUCCESS) *ordinal = Runtime::get().ordinal_of(device);
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    return entry([&](const Driver& d) { return d.StreamCopyAttributes(to, from); });
}

CUPOLA_CUDART cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                                 cudaStreamAttrValue* value) {
    static_assert(sizeof(cudaStreamAttrValue) == sizeof(CUstreamAttrValue));
    return entry([&](const Driver& d) {
        return value ? d.StreamGetAttribute(stream, static_cast<CUstreamAttrID>(attribute),
                                            reinterpret_cast<CUstreamAttrValue*>(value))
                     : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                                 const cudaStreamAttrValue* value) {
    return entry([&](const Driver& d) {
        return value ? d.StreamSetAttribute(stream, static_cast<CUstreamAttrID>(attribute),
                                            reinterpret_cast<const CUstreamAttrValue*>(value))
                     : CUDA_ERROR_INVALID_VALUE;
    });
}
