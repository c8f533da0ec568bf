// csrc/dropin/cudart/memory.cpp - memory of the device and page-locked memory of the host.
#include "dropin/cudart/cudart.hpp"

#include <cstring>

namespace cupola::cudart {
namespace {

// Rows have the driver's preferred pitch. The driver takes elements of at least 4 bytes.
cudaError_t allocate_rows(const Driver& d, void** pointer, std::size_t* pitch, std::size_t width,
                          std::size_t rows) {
    if (width == 0 || rows == 0) {
        *pointer = nullptr;
        *pitch = 0;
        return cudaSuccess;
    }
    return result_of(d.MemAllocPitch(address_result(pointer), pitch, width, rows, 4));
}

cudaError_t allocate_on_host(const Driver& d, void** pointer, std::size_t size, unsigned flags) {
    if (!pointer) return cudaErrorInvalidValue;
    if (size == 0) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    return result_of(d.MemHostAlloc(pointer, size, flags));
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMalloc(void** pointer, size_t size) {
    return entry([&](const Driver& d) {
        if (!pointer) return cudaErrorInvalidValue;
        if (size != 0) return result_of(d.MemAlloc(address_result(pointer), size));
        *pointer = nullptr;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaFree(void* pointer) {
    return entry([&](const Driver& d) {
        return pointer ? result_of(d.MemFree(device_address(pointer))) : cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width,
                                          size_t height) {
    return entry([&](const Driver& d) {
        if (!pointer || !pitch) return cudaErrorInvalidValue;
        return allocate_rows(d, pointer, pitch, width, height);
    });
}

CUPOLA_CUDART cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
    return entry([&](const Driver& d) {
        std::size_t rows = 0;
        if (!pitched) return cudaErrorInvalidValue;
        if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
            return cudaErrorMemoryAllocation;
        void* pointer = nullptr;
        std::size_t pitch = 0;
        const cudaError_t error = allocate_rows(d, &pointer, &pitch, extent.width, rows);
        if (error == cudaSuccess) *pitched = {pointer, pitch, extent.width, extent.height};
        return error;
    });
}

CUPOLA_CUDART cudaError_t cudaMallocHost(void** pointer, size_t size) {
    return entry([&](const Driver& d) { return allocate_on_host(d, pointer, size, 0); });
}

CUPOLA_CUDART cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
    return entry([&](const Driver& d) { return allocate_on_host(d, pointer, size, flags); });
}

CUPOLA_CUDART cudaError_t cudaFreeHost(void* pointer) {
    return entry(
        [&](const Driver& d) { return pointer ? result_of(d.MemFreeHost(pointer)) : cudaSuccess; });
}

CUPOLA_CUDART cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
    return entry([&](const Driver& d) { return d.MemHostRegister(pointer, size, flags); });
}

CUPOLA_CUDART cudaError_t cudaHostUnregister(void* pointer) {
    return entry([&](const Driver& d) { return d.MemHostUnregister(pointer); });
}

CUPOLA_CUDART cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return entry([&](const Driver& d) {
        return device ? result_of(d.MemHostGetDevicePointer(address_result(device), host, flags))
                      : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
    return entry([&](const Driver& d) {
        return flags ? result_of(d.MemHostGetFlags(flags, host)) : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
    return entry([&](const Driver& d) {
        if (!pointer) return cudaErrorInvalidValue;
        if (size != 0) return result_of(d.MemAllocManaged(address_result(pointer), size, flags));
        *pointer = nullptr;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    return entry([&](const Driver& d) {
        std::size_t free_bytes = 0, total_bytes = 0;
        const CUresult result = d.MemGetInfo(&free_bytes, &total_bytes);
        if (result == CUDA_SUCCESS && free) *free = free_bytes;
        if (result == CUDA_SUCCESS && total) *total = total_bytes;
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
    static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
    return entry([&](const Driver& d) {
        return handle ? result_of(d.IpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle),
                                                    device_address(pointer)))
                      : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle,
                                               unsigned flags) {
    return entry([&](const Driver& d) {
        if (!pointer) return cudaErrorInvalidValue;
        CUipcMemHandle given;
        static_assert(sizeof given == sizeof handle);
        std::memcpy(&given, &handle, sizeof given);
        return result_of(d.IpcOpenMemHandle(address_result(pointer), given, flags));
    });
}

CUPOLA_CUDART cudaError_t cudaIpcCloseMemHandle(void* pointer) {
    return entry([&](const Driver& d) { return d.IpcCloseMemHandle(device_address(pointer)); });
}
