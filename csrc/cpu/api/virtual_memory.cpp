// csrc/cpu/api/virtual_memory.cpp - cu* entry points: reserved addresses, physical memory, and
// mappings.
#include "cpu/device/memory/virtual_memory.hpp"

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/memory/shared_file.hpp"

using namespace cupola::cpu;

namespace {

void check_properties(const CUmemAllocationProp* properties) {
    require(properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
    require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    require(properties->location.id >= 0 &&
                static_cast<std::size_t>(properties->location.id) < Driver::get().devices.size(),
            CUDA_ERROR_INVALID_DEVICE);
    // NVIDIA's driver ignores unknown handle types, and refuses known handle types that it does not
    // support.
    require((properties->requestedHandleTypes &
             (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT)) == 0);
    require((properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) == 0,
            CUDA_ERROR_NOT_SUPPORTED);
}

void check_device(CUmemLocation location) {
    require(location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    require(location.id >= 0 &&
            static_cast<std::size_t>(location.id) < Driver::get().devices.size());
}

}  // namespace

CUPOLA_API CUresult cuMemGetAllocationGranularity(size_t* granularity,
                                                  const CUmemAllocationProp* properties,
                                                  CUmemAllocationGranularity_flags option) {
    return entry([&] {
        require(granularity);
        require(option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
        require(properties);  // the granularity is equal for all properties
        *granularity = VirtualMemory::granularity;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                                const CUmemAllocationProp* properties, unsigned long long flags) {
    return entry([&] {
        require(handle && properties && flags == 0);
        check_properties(properties);
        require(size > 0 && size % VirtualMemory::granularity == 0);
        Driver& driver = Driver::get();
        Budget& budget = driver.device(properties->location.id).budget();
        *handle = driver.virtual_memory.keep(Piece::make(size, *properties, budget));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return entry([&] {
        Driver::get().virtual_memory.release(handle);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                           CUmemGenericAllocationHandle handle) {
    return entry([&] {
        require(properties);
        *properties = Driver::get().virtual_memory.piece(handle)->properties();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                void* address) {
    return entry([&] {
        require(handle);
        *handle = Driver::get().virtual_memory.retain(reinterpret_cast<std::uintptr_t>(address));
        return CUDA_SUCCESS;
    });
}

// Returns a file descriptor, which may be passed to other processes.
CUPOLA_API CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType type,
                                                 unsigned long long flags) {
    return entry([&] {
        require(out && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        const auto piece = Driver::get().virtual_memory.piece(handle);
        require(piece->properties().requestedHandleTypes & type);
        *static_cast<int*>(out) = piece->file()->duplicate();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* descriptor,
                                                   CUmemAllocationHandleType type) {
    return entry([&] {
        require(handle && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        const auto number = reinterpret_cast<std::intptr_t>(descriptor);
        require(number >= 0 && number <= 0x7fffffff, CUDA_ERROR_UNKNOWN);
        Driver& driver = Driver::get();
        const int devices = static_cast<int>(driver.devices.size());
        *handle = driver.virtual_memory.keep(Piece::open(static_cast<int>(number), devices));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment,
                                        CUdeviceptr wish, unsigned long long flags) {
    return entry([&] {
        require(address && size > 0 && size % VirtualMemory::granularity == 0 && flags == 0);
        require((alignment & (alignment - 1)) == 0);
        *address = Driver::get().virtual_memory.reserve(size, alignment, wish);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    return entry([&] {
        Driver::get().virtual_memory.free(address, size);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
    return entry([&] {
        require(flags == 0);
        require(offset == 0, CUDA_ERROR_NOT_SUPPORTED);  // a range is mapped as a whole
        Driver::get().virtual_memory.map(address, size, handle);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    return entry([&] {
        Driver::get().virtual_memory.unmap(address, size);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access,
                                   size_t count) {
    return entry([&] {
        require(access && count > 0);
        for (size_t i = 0; i < count; ++i) {
            check_device(access[i].location);
            require(access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                    access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                    access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
        Driver::get().virtual_memory.set_access(address, size, access, count);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                                   CUdeviceptr address) {
    return entry([&] {
        require(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
        Driver::get().device(location->id);
        *flags = Driver::get().virtual_memory.access(address, location->id);
        return CUDA_SUCCESS;
    });
}
