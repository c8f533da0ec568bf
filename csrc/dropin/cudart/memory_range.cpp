// csrc/dropin/cudart/memory_range.cpp - what is known about an address: its allocation, its advice.
#include "dropin/cudart/cudart.hpp"

#include <iterator>

using namespace cupola::cudart;

// Version 13's structure is longer at its end than version 12's, so the additional bytes are never
// written.
CUPOLA_CUDART cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                   const void* pointer) {
    return entry([&](const Driver& d) {
        if (!attributes) return cudaErrorInvalidValue;
        unsigned type = 0, managed = 0;
        int device = cudaInvalidDeviceId;
        CUdeviceptr on_device = 0;
        void* on_host = nullptr;
        CUpointer_attribute wanted[] = {
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            CU_POINTER_ATTRIBUTE_HOST_POINTER};
        void* values[] = {&type, &managed, &device, &on_device, &on_host};
        const CUresult result = d.PointerGetAttributes(static_cast<unsigned>(std::size(wanted)),
                                                       wanted, values, device_address(pointer));
        if (result != CUDA_SUCCESS) return result_of(result);
        attributes->type = managed                        ? cudaMemoryTypeManaged
                           : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                           : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                          : cudaMemoryTypeUnregistered;
        attributes->device = device;
        attributes->devicePointer = reinterpret_cast<void*>(on_device);
        attributes->hostPointer = on_host;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaMemRangeGetAttribute(void* data, size_t size,
                                                   cudaMemRangeAttribute attribute,
                                                   const void* pointer, size_t count) {
    return entry([&](const Driver& d) {
        return data ? result_of(d.MemRangeGetAttribute(
                          data, size, static_cast<CUmem_range_attribute>(attribute),
                          device_address(pointer), count))
                    : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes,
                                                    cudaMemRangeAttribute* attributes,
                                                    size_t number, const void* pointer,
                                                    size_t count) {
    static_assert(sizeof(cudaMemRangeAttribute) == sizeof(CUmem_range_attribute));
    return entry([&](const Driver& d) {
        if (!data || !sizes || !attributes) return cudaErrorInvalidValue;
        return result_of(d.MemRangeGetAttributes(
            data, sizes, reinterpret_cast<CUmem_range_attribute*>(attributes), number,
            device_address(pointer), count));
    });
}
