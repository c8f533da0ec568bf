// csrc/dropin/cudart/pool.cpp - memory pools. Allocation from them is in stream/pool.cpp.
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));
static_assert(sizeof(cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData));

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return entry_with_device(device, [&](const Driver& d, CUdevice on) {
        return pool ? d.DeviceGetDefaultMemPool(pool, on) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return entry_with_device(
        device,
        [&](const Driver& d, CUdevice on) {
            return pool ? d.DeviceGetMemPool(pool, on) : CUDA_ERROR_INVALID_VALUE;
        },
        cudaErrorInvalidValue);
}

CUPOLA_CUDART cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return entry_with_device(
        device,
        [&](const Driver& d, CUdevice on) {
            return pool ? d.DeviceSetMemPool(on, pool) : CUDA_ERROR_INVALID_VALUE;
        },
        cudaErrorInvalidValue);
}

CUPOLA_CUDART cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
    return entry([&](const Driver& d) {
        return pool && props ? d.MemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(props))
                             : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return entry(
        [&](const Driver& d) { return pool ? d.MemPoolDestroy(pool) : CUDA_ERROR_INVALID_VALUE; });
}

CUPOLA_CUDART cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    return entry([&](const Driver& d) {
        return pool ? d.MemPoolTrimTo(pool, bytes) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                  void* value) {
    return entry([&](const Driver& d) {
        return pool && value
                   ? d.MemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                  void* value) {
    return entry([&](const Driver& d) {
        return pool && value
                   ? d.MemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool,
                                               const cudaMemAccessDesc* descriptions,
                                               size_t count) {
    return entry([&](const Driver& d) {
        if (!pool || (!descriptions && count > 0)) return CUDA_ERROR_INVALID_VALUE;
        if (count == 0) return CUDA_SUCCESS;  // the driver returns an error for this
        return d.MemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(descriptions),
                                  count);
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                               cudaMemLocation* location) {
    return entry([&](const Driver& d) {
        if (!flags || !pool || !location) return CUDA_ERROR_INVALID_VALUE;
        CUmemAccess_flags found = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        const CUresult result =
            d.MemPoolGetAccess(&found, pool, reinterpret_cast<CUmemLocation*>(location));
        if (result == CUDA_SUCCESS) *flags = static_cast<cudaMemAccessFlags>(found);
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                                             cudaMemAllocationHandleType type,
                                                             unsigned flags) {
    return entry([&](const Driver& d) {
        return handle && pool
                   ? d.MemPoolExportToShareableHandle(
                         handle, pool, static_cast<CUmemAllocationHandleType>(type), flags)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                               cudaMemAllocationHandleType type,
                                                               unsigned flags) {
    return entry([&](const Driver& d) {
        return pool ? d.MemPoolImportFromShareableHandle(
                          pool, handle, static_cast<CUmemAllocationHandleType>(type), flags)
                    : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
    return entry([&](const Driver& d) {
        return data ? d.MemPoolExportPointer(reinterpret_cast<CUmemPoolPtrExportData*>(data),
                                             device_address(pointer))
                    : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool,
                                                   cudaMemPoolPtrExportData* data) {
    return entry([&](const Driver& d) {
        return pointer && pool && data
                   ? d.MemPoolImportPointer(address_result(pointer), pool,
                                            reinterpret_cast<CUmemPoolPtrExportData*>(data))
                   : CUDA_ERROR_INVALID_VALUE;
    });
}
