// csrc/cpu/api/pointer.cpp - cu* entry points: attributes of pointers.
#include <algorithm>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/stream/pool.hpp"

using namespace cupola::cpu;

namespace {

template <class T>
void put(void* data, T value) {
    *static_cast<T*>(data) = value;
}

// The values that cuPointerGetAttributes returns for a pointer that the driver does not know, which
// counts as a host pointer, and for an attribute that a known pointer lacks.
void put_unknown(void* data, CUpointer_attribute attribute, CUdeviceptr host = 0) {
    switch (static_cast<int>(attribute)) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return put<std::uint64_t>(data, 0);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return put<CUdeviceptr>(data, host);
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put<int>(data, CU_DEVICE_INVALID);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return put<unsigned>(data, 0);
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return put<bool>(data, false);
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

CUresult put_known(void* data, CUpointer_attribute attribute, const Allocation& of,
                   CUdeviceptr address) {
    const bool managed = of.is_managed();
    const bool on_host = of.on_host() || of.place == Allocation::Place::host;
    switch (static_cast<int>(attribute)) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            put<const void*>(data, of.kind == Allocation::Kind::pool ? nullptr : of.context);
            break;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            put<unsigned>(data, on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            if (!of.open) return CUDA_ERROR_INVALID_VALUE;
            put<CUdeviceptr>(data, address);
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!on_host && !managed) return CUDA_ERROR_INVALID_VALUE;
            put<CUdeviceptr>(data, address);
            break;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            put<bool>(data, of.sync_memops || of.place == Allocation::Place::managed);
            break;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            put<unsigned long long>(data, of.id);
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            put<bool>(data, managed);
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            put<int>(data, of.device);
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            put<CUdeviceptr>(data, of.begin);
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            put<size_t>(data, of.size);
            break;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            put<bool>(data, true);
            break;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            put<std::uint64_t>(data, of.shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                  : CU_MEM_HANDLE_TYPE_NONE);
            break;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            put<unsigned>(data, of.kind == Allocation::Kind::mapped
                                    ? of.flags
                                    : unsigned{CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE});
            break;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            put<const void*>(data, of.pool);
            break;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            put<bool>(data, of.kind == Allocation::Kind::device && !of.module);
            break;
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
            put<bool>(data, false);
            break;
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            put<size_t>(data, std::max(of.size, of.capacity));
            break;
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            put<CUdeviceptr>(data, of.begin);
            break;
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            put<unsigned long long>(data, of.id);
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUPOLA_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                          CUdeviceptr pointer) {
    return entry([&] {
        require(data);  // works without a context and after a fault
        const auto found = Driver::get().memory.at(pointer);
        require(found.has_value());
        return put_known(data, attribute, *found, pointer);
    });
}

CUPOLA_API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes,
                                           void** data, CUdeviceptr pointer) {
    return entry([&] {
        require(count && attributes && data);
        const auto found = Driver::get().memory.at(pointer);
        for (unsigned i = 0; i < count; ++i) {
            require(data[i]);
            if (!found)
                put_unknown(data[i], attributes[i], pointer);
            else if (put_known(data[i], attributes[i], *found, pointer) != CUDA_SUCCESS)
                put_unknown(data[i], attributes[i]);
        }
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                          CUdeviceptr pointer) {
    return entry([&] {
        Context::usable();
        require(value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
        const auto found = Driver::get().memory.at(pointer);
        require(found && found->begin == pointer && !found->on_host());
        const bool on = *static_cast<const unsigned*>(value) != 0;
        Driver::get().memory.change(pointer, [on](Allocation& it) { it.sync_memops = on; });
        return CUDA_SUCCESS;
    });
}
