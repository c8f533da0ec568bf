// csrc/dropin/cudart/stream/versions/memory.cpp - functions of memory and copies that take a
// stream, and whose parameters differ between versions 12 and 13 of the runtime.
#include <algorithm>
#include <vector>

#include "dropin/cudart/names.hpp"
#include "dropin/cudart/runtime.hpp"

using namespace cupola::cudart;

namespace cupola::cudart {
namespace {

static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes));
static_assert(sizeof(cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP));
static_assert(sizeof(cudaExternalSemaphoreSignalParams) ==
              sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
static_assert(sizeof(cudaExternalSemaphoreWaitParams) ==
              sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS));

cudaError_t prefetch(const void* pointer, std::size_t count, cudaMemLocation location,
                     unsigned flags, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return d.MemPrefetchAsync(device_address(pointer), count, driver_location(location), flags,
                                  stream);
    });
}

// Version 13 does not report which copy failed.
cudaError_t copy_batch(void* const* to, const void* const* from, const std::size_t* sizes,
                       std::size_t count, cudaMemcpyAttributes* attributes, std::size_t* indices,
                       std::size_t attribute_count, std::size_t* failed, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return d.MemcpyBatchAsync(address_result(const_cast<void**>(to)),
                                  address_result(const_cast<void**>(from)),
                                  const_cast<std::size_t*>(sizes), count,
                                  reinterpret_cast<CUmemcpyAttributes*>(attributes), indices,
                                  attribute_count, failed, stream);
    });
}

cudaError_t copy_batch_3d(std::size_t count, cudaMemcpy3DBatchOp* copies, std::size_t* failed,
                          unsigned long long flags, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return d.Memcpy3DBatchAsync(count, reinterpret_cast<CUDA_MEMCPY3D_BATCH_OP*>(copies),
                                    failed, flags, stream);
    });
}

// NVIDIA's driver dereferences null handles.
bool are_valid(const cudaExternalSemaphore_t* semaphores, const void* params, unsigned count) {
    return semaphores && params &&
           std::all_of(semaphores, semaphores + count, [](auto each) { return each != nullptr; });
}

cudaError_t signal_external(const cudaExternalSemaphore_t* semaphores,
                            const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* params, unsigned count,
                            cudaStream_t stream) {
    return entry([&](const Driver& d) {
        if (!are_valid(semaphores, params, count)) return CUDA_ERROR_INVALID_VALUE;
        return d.SignalExternalSemaphoresAsync(
            reinterpret_cast<const CUexternalSemaphore*>(semaphores), params, count, stream);
    });
}

cudaError_t wait_external(const cudaExternalSemaphore_t* semaphores,
                          const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params, unsigned count,
                          cudaStream_t stream) {
    return entry([&](const Driver& d) {
        if (!are_valid(semaphores, params, count)) return CUDA_ERROR_INVALID_VALUE;
        return d.WaitExternalSemaphoresAsync(
            reinterpret_cast<const CUexternalSemaphore*>(semaphores), params, count, stream);
    });
}

}  // namespace
}  // namespace cupola::cudart

CUPOLA_CUDART cudaError_t CUPOLA_OWN(CUPOLA_NEW(cudaMemPrefetchAsync,
                                                _v2))(const void* pointer, size_t count,
                                                      cudaMemLocation location, unsigned flags,
                                                      cudaStream_t stream) {
    return prefetch(pointer, count, location, flags, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(CUPOLA_NEW(cudaSignalExternalSemaphoresAsync, _v2))(
    const cudaExternalSemaphore_t* semaphores, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* params,
    unsigned count, cudaStream_t stream) {
    return signal_external(semaphores, params, count, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(CUPOLA_NEW(cudaWaitExternalSemaphoresAsync, _v2))(
    const cudaExternalSemaphore_t* semaphores, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params,
    unsigned count, cudaStream_t stream) {
    return wait_external(semaphores, params, count, stream);
}

#if CUPOLA_CUDART_MAJOR == 12

namespace cupola::cudart {
namespace {

// cudaExternalSemaphoreSignalParams_v1 and cudaExternalSemaphoreWaitParams_v1, which CUDA 13's
// headers lack.
struct OldSignal {
    unsigned long long fence, sync, key;
    unsigned flags;
};
struct OldWait {
    unsigned long long fence, sync;
    struct {
        unsigned long long key;
        unsigned timeout;
    } mutex;
    unsigned flags;
};
static_assert(sizeof(OldSignal) == 32 && sizeof(OldWait) == 40);

std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> new_params(const OldSignal* old,
                                                              unsigned count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> made(count);
    for (unsigned n = 0; n < count; ++n) {
        made[n].params.fence.value = old[n].fence;
        made[n].params.nvSciSync.reserved = old[n].sync;
        made[n].params.keyedMutex.key = old[n].key;
        made[n].flags = old[n].flags;
    }
    return made;
}

std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> new_params(const OldWait* old, unsigned count) {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> made(count);
    for (unsigned n = 0; n < count; ++n) {
        made[n].params.fence.value = old[n].fence;
        made[n].params.nvSciSync.reserved = old[n].sync;
        made[n].params.keyedMutex.key = old[n].mutex.key;
        made[n].params.keyedMutex.timeoutMs = old[n].mutex.timeout;
        made[n].flags = old[n].flags;
    }
    return made;
}

}  // namespace
}  // namespace cupola::cudart

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemPrefetchAsync)(const void* pointer, size_t count,
                                                           int device, cudaStream_t stream) {
    return prefetch(pointer, count, location_of(device), 0, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemcpyBatchAsync)(void** to, void** from, size_t* sizes,
                                                           size_t count,
                                                           cudaMemcpyAttributes* attributes,
                                                           size_t* indices, size_t attribute_count,
                                                           size_t* failed, cudaStream_t stream) {
    return copy_batch(to, from, sizes, count, attributes, indices, attribute_count, failed, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemcpy3DBatchAsync)(size_t count,
                                                             cudaMemcpy3DBatchOp* copies,
                                                             size_t* failed,
                                                             unsigned long long flags,
                                                             cudaStream_t stream) {
    return copy_batch_3d(count, copies, failed, flags, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaSignalExternalSemaphoresAsync)(
    const cudaExternalSemaphore_t* semaphores, const OldSignal* params, unsigned count,
    cudaStream_t stream) {
    return entry([&](const Driver&) {
        return params ? signal_external(semaphores, new_params(params, count).data(), count, stream)
                      : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaWaitExternalSemaphoresAsync)(
    const cudaExternalSemaphore_t* semaphores, const OldWait* params, unsigned count,
    cudaStream_t stream) {
    return entry([&](const Driver&) {
        return params ? wait_external(semaphores, new_params(params, count).data(), count, stream)
                      : cudaErrorInvalidValue;
    });
}

#else

// Batches of version 13 take no stream 0, also where that is the thread's own.
static cudaError_t refuse_default_stream() {
    return entry([](const Driver&) { return cudaErrorInvalidValue; });
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemcpyBatchAsync)(void* const* to, const void* const* from,
                                                           const size_t* sizes, size_t count,
                                                           cudaMemcpyAttributes* attributes,
                                                           size_t* indices, size_t attribute_count,
                                                           cudaStream_t stream) {
    size_t failed = 0;
    if (!stream) return refuse_default_stream();
    return copy_batch(to, from, sizes, count, attributes, indices, attribute_count, &failed,
                      stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemcpy3DBatchAsync)(size_t count,
                                                             cudaMemcpy3DBatchOp* copies,
                                                             unsigned long long flags,
                                                             cudaStream_t stream) {
    size_t failed = 0;
    if (!stream) return refuse_default_stream();
    return copy_batch_3d(count, copies, &failed, flags, stream);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemPrefetchBatchAsync)(
    void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations, size_t* indices,
    size_t location_count, unsigned long long flags, cudaStream_t stream) {
    return entry([&](const Driver&) {
        return call_newer("cuMemPrefetchBatchAsync", 13000, pointers, sizes, count, locations,
                          indices, location_count, flags, stream);
    });
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemDiscardBatchAsync)(void** pointers, size_t* sizes,
                                                               size_t count,
                                                               unsigned long long flags,
                                                               cudaStream_t stream) {
    return entry([&](const Driver&) {
        return call_newer("cuMemDiscardBatchAsync", 13000, pointers, sizes, count, flags, stream);
    });
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaMemDiscardAndPrefetchBatchAsync)(
    void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations, size_t* indices,
    size_t location_count, unsigned long long flags, cudaStream_t stream) {
    return entry([&](const Driver&) {
        return call_newer("cuMemDiscardAndPrefetchBatchAsync", 13000, pointers, sizes, count,
                          locations, indices, location_count, flags, stream);
    });
}

#endif
