// csrc/cpu/api/managed.cpp - cu* entry points: prefetching managed memory, and advice on it.
//
// Managed memory of this device is where the host has it. What is asked for is checked, and there
// is nothing to do.
#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/memory.hpp"
#include "cpu/stream.hpp"

using namespace cupola::cpu;

namespace {

void require_managed(CUdeviceptr address, size_t bytes) {
    require(bytes > 0);
    const auto found = Driver::get().memory.at(address);
    require(found && found->kind == Allocation::Kind::managed && bytes <= found->end() - address);
}

void require_place(CUmemLocation place) {
    switch (static_cast<int>(place.type)) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            Driver::get().device(place.id);
            return;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

// As the first forms of these calls name a place.
CUmemLocation place_of(CUdevice device) {
    CUmemLocation place{};
    place.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    place.id = device == CU_DEVICE_CPU ? 0 : device;
    return place;
}

CUresult prefetch(CUdeviceptr address, size_t bytes, CUmemLocation place, CUstream stream) {
    return entry([&] {
        Stream::from(stream);
        require_managed(address, bytes);
        require_place(place);
        Driver::get().advice.change(address, address + bytes, [&](Advice& it) {
            it.prefetched = Advice::Place{place.type, place.id};
        });
        return CUDA_SUCCESS;
    });
}

void take(Advice& it, CUmem_advise advice, CUmemLocation place) {
    const int device = place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : CU_DEVICE_CPU;
    switch (static_cast<int>(advice)) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY:
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
            it.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
            return;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
            it.preferred = Advice::Place{place.type, place.id};
            return;
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
            it.preferred.reset();
            return;
        case CU_MEM_ADVISE_SET_ACCESSED_BY:
            it.accessed_by.insert(device);
            return;
        default:
            it.accessed_by.erase(device);
    }
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation place) {
    return entry([&] {
        Context::usable();
        require_managed(address, bytes);
        require(advice >= CU_MEM_ADVISE_SET_READ_MOSTLY &&
                advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
        // Of the others the place is not looked at.
        if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
            advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY)
            require_place(place);
        Driver::get().advice.change(address, address + bytes,
                                    [&](Advice& it) { take(it, advice, place); });
        return CUDA_SUCCESS;
    });
}

}  // namespace

CUPOLA_API CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device,
                                       CUstream stream) {
    return prefetch(address, bytes, place_of(device), stream);
}
CUPOLA_API CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device,
                                            CUstream stream) {
    return prefetch(address, bytes, place_of(device), Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation place,
                                          unsigned int flags, CUstream stream) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return prefetch(address, bytes, place, stream);
}
CUPOLA_API CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes,
                                               CUmemLocation place, unsigned int flags,
                                               CUstream stream) {
    return cuMemPrefetchAsync_v2(address, bytes, place, flags, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                CUdevice device) {
    return advise(address, bytes, advice, place_of(device));
}

CUPOLA_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                   CUmemLocation place) {
    return advise(address, bytes, advice, place);
}
