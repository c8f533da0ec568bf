// csrc/dropin/cudart/versions/memory.cpp - functions of memory whose parameters differ between
// versions 12 and 13 of the runtime, or that one of them lacks.
#include "dropin/cudart/names.hpp"
#include "dropin/cudart/runtime.hpp"

namespace cupola::cudart {
namespace {

cudaError_t advise(const void* pointer, std::size_t count, cudaMemoryAdvise advice,
                   cudaMemLocation location) {
    return entry([&](const Driver& d) {
        return d.MemAdvise(device_address(pointer), count, static_cast<CUmem_advise>(advice),
                           driver_location(location));
    });
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaMemAdvise, _v2)(const void* pointer, size_t count,
                                                         cudaMemoryAdvise advice,
                                                         cudaMemLocation location) {
    return advise(pointer, count, advice, location);
}

#if CUPOLA_CUDART_MAJOR == 12

CUPOLA_CUDART cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise advice,
                                        int device) {
    return entry([&](const Driver&) {
        const bool has_device =
            device != cudaCpuDeviceId &&
            (advice == cudaMemAdviseSetPreferredLocation || advice == cudaMemAdviseSetAccessedBy ||
             advice == cudaMemAdviseUnsetAccessedBy);
        CUdevice found = 0;
        return has_device && !Runtime::get().find(device, found)
                   ? cudaErrorInvalidDevice
                   : advise(pointer, count, advice, location_of(device));
    });
}

#else

CUPOLA_CUDART cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                                   cudaMemAllocationType type) {
    return entry([&](const Driver&) {
        return pool && location ? call_newer("cuMemGetDefaultMemPool", 13000, pool, location, type)
                                : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                            cudaMemAllocationType type) {
    return entry([&](const Driver&) {
        return pool && location ? call_newer("cuMemGetMemPool", 13000, pool, location, type)
                                : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                                            cudaMemPool_t pool) {
    return entry([&](const Driver&) {
        return pool && location ? call_newer("cuMemSetMemPool", 13000, location, type, pool)
                                : CUDA_ERROR_INVALID_VALUE;
    });
}

#endif
