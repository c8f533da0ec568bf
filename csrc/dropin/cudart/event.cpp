// csrc/dropin/cudart/event.cpp - events: creation, waiting, times, sharing between processes.
#include <cstring>

#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return entry([&](const Driver& d) {
        return event ? d.EventCreate(event, CU_EVENT_DEFAULT) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return entry([&](const Driver& d) {
        return event ? d.EventCreate(event, flags) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return entry([&](const Driver& d) { return d.EventDestroy(event); });
}

CUPOLA_CUDART cudaError_t cudaEventQuery(cudaEvent_t event) {
    return entry([&](const Driver& d) { return d.EventQuery(event); });
}

CUPOLA_CUDART cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return entry([&](const Driver& d) { return d.EventSynchronize(event); });
}

CUPOLA_CUDART cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                               cudaEvent_t end) {
    return entry([&](const Driver& d) {
        return milliseconds ? d.EventElapsedTime(milliseconds, start, end)
                            : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
    static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle));
    return entry([&](const Driver& d) {
        return handle ? d.IpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    return entry([&](const Driver& d) {
        if (!event) return CUDA_ERROR_INVALID_VALUE;
        CUipcEventHandle shared;
        std::memcpy(&shared, &handle, sizeof shared);
        return d.IpcOpenEventHandle(event, shared);
    });
}
