// csrc/cpu/api/managed.cpp - cu* entry points: prefetching managed memory, and advice on it.
//
// Managed memory of this device is host memory. Arguments are checked; a prefetch has nothing to
// do.
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

void require_managed(CUdeviceptr address, size_t bytes) {
    require(bytes > 0);
    const auto found = Driver::get().memory.at(address);
    require(found && found->is_managed() && bytes <= found->end() - address);
}

void require_type(CUmemLocation place) {
    require(place.type == CU_MEM_LOCATION_TYPE_DEVICE || place.type == CU_MEM_LOCATION_TYPE_HOST ||
            place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
            place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
}

// `missing` is the error where there is no such device.
void require_place(CUmemLocation place, CUresult missing) {
    require_type(place);
    if (place.type == CU_MEM_LOCATION_TYPE_DEVICE)
        require(place.id >= 0 && static_cast<std::size_t>(place.id) < Driver::get().devices.size(),
                missing);
}

// As cuda.h documents, managed memory is not prefetched where a device lacks concurrent access to
// it, and such a device is no location of advice.
void require_concurrent_access() {
    require(!Driver::get().settings.integrated, CUDA_ERROR_INVALID_DEVICE);
}

// The location as the first forms of these calls encode it.
CUmemLocation place_of(CUdevice device) {
    CUmemLocation place{};
    place.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    place.id = device == CU_DEVICE_CPU ? 0 : device;
    return place;
}

CUresult prefetch(CUdeviceptr address, size_t bytes, CUmemLocation place, CUstream stream) {
    return entry([&] {
        stream_of(stream);
        require_managed(address, bytes);
        require_place(place, CUDA_ERROR_INVALID_DEVICE);
        require_concurrent_access();
        Driver::get().advice.change(address, address + bytes, [&](Advice& it) {
            it.prefetched = Advice::Place{place.type, place.id};
        });
        return CUDA_SUCCESS;
    });
}

// A range uses the location of the last index that is not larger than its own. A discard without
// locations does nothing: the content of a discarded range is undefined.
CUresult ranges(const CUdeviceptr* addresses, const size_t* sizes, size_t count,
                const CUmemLocation* places, const size_t* firsts, size_t kinds,
                unsigned long long flags, CUstream stream) {
    return entry([&] {
        // As cuda.h documents, default streams are not allowed.
        require(stream && stream != CU_STREAM_LEGACY);
        require(addresses && sizes && count > 0 && flags == 0);
        Capture::forbid(*stream_of(stream));
        if (places || firsts || kinds)
            require(places && firsts && kinds > 0 && kinds <= count && firsts[0] == 0);
        for (size_t n = 0; n < kinds; ++n) {
            require(n == 0 || (firsts[n] > firsts[n - 1] && firsts[n] < count));
            require_place(places[n], CUDA_ERROR_INVALID_VALUE);
        }
        for (size_t n = 0; n < count; ++n) require_managed(addresses[n], sizes[n]);
        if (kinds > 0) require_concurrent_access();
        for (size_t n = 0, kind = 0; kinds > 0 && n < count; ++n) {
            if (kind + 1 < kinds && firsts[kind + 1] == n) ++kind;
            Driver::get().advice.change(addresses[n], addresses[n] + sizes[n], [&](Advice& it) {
                it.prefetched = Advice::Place{places[kind].type, places[kind].id};
            });
        }
        return CUDA_SUCCESS;
    });
}

CUresult prefetched_ranges(const CUdeviceptr* addresses, const size_t* sizes, size_t count,
                           const CUmemLocation* places, const size_t* firsts, size_t kinds,
                           unsigned long long flags, CUstream stream) {
    if (kinds == 0) return CUDA_ERROR_INVALID_VALUE;
    return ranges(addresses, sizes, count, places, firsts, kinds, flags, stream);
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

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation place,
                CUresult missing) {
    return entry([&] {
        Context::usable();
        require_managed(address, bytes);
        require(advice >= CU_MEM_ADVISE_SET_READ_MOSTLY &&
                advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY);
        require_type(place);
        // Other advice ignores the device.
        if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
            advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY)
            require_place(place, missing);
        if (place.type == CU_MEM_LOCATION_TYPE_DEVICE &&
            (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
             advice == CU_MEM_ADVISE_SET_ACCESSED_BY))
            require_concurrent_access();
        Capture::forbid(Driver::get());
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

CUPOLA_API CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                            CUmemLocation* places, size_t* firsts, size_t kinds,
                                            unsigned long long flags, CUstream stream) {
    return prefetched_ranges(addresses, sizes, count, places, firsts, kinds, flags, stream);
}
CUPOLA_API CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes,
                                                 size_t count, CUmemLocation* places,
                                                 size_t* firsts, size_t kinds,
                                                 unsigned long long flags, CUstream stream) {
    return prefetched_ranges(addresses, sizes, count, places, firsts, kinds, flags,
                             Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           unsigned long long flags, CUstream stream) {
    return ranges(addresses, sizes, count, nullptr, nullptr, 0, flags, stream);
}
CUPOLA_API CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                                unsigned long long flags, CUstream stream) {
    return cuMemDiscardBatchAsync(addresses, sizes, count, flags, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes,
                                                      size_t count, CUmemLocation* places,
                                                      size_t* firsts, size_t kinds,
                                                      unsigned long long flags, CUstream stream) {
    return prefetched_ranges(addresses, sizes, count, places, firsts, kinds, flags, stream);
}
CUPOLA_API CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes,
                                                           size_t count, CUmemLocation* places,
                                                           size_t* firsts, size_t kinds,
                                                           unsigned long long flags,
                                                           CUstream stream) {
    return prefetched_ranges(addresses, sizes, count, places, firsts, kinds, flags,
                             Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                CUdevice device) {
    return advise(address, bytes, advice, place_of(device), CUDA_ERROR_INVALID_DEVICE);
}

CUPOLA_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                   CUmemLocation place) {
    return advise(address, bytes, advice, place, CUDA_ERROR_INVALID_VALUE);
}
