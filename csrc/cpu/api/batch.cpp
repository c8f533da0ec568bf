// csrc/cpu/api/batch.cpp - cu* entry points: batched copies and prefetches, and pools of a
// location.
#include <vector>

#include "cpu/api/copy.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/stream/pool.hpp"
#include "cpu/device/stream/stream.hpp"

#undef cuMemcpyBatchAsync

using namespace cupola::cpu;

namespace {

// A copy uses the attributes of the last index that is not larger than its own. Attributes are
// checked but have no effect.
CUresult copies(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                CUmemcpyAttributes* attributes, size_t* places, size_t kinds, size_t* failed,
                CUstream handle) {
    return entry([&] {
        if (failed) *failed = SIZE_MAX;
        // As cuda.h documents, default streams are not allowed.
        require(handle && handle != CU_STREAM_LEGACY);
        require(to && from && sizes && count > 0 && attributes && places && kinds > 0 &&
                kinds <= count && places[0] == 0);
        for (size_t i = 0; i < kinds; ++i) {
            require(i == 0 || (places[i] > places[i - 1] && places[i] < count));
            require(attributes[i].srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
                    attributes[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
        }
        const auto stream = stream_of(handle);
        for (size_t i = 0; i < count; ++i) {
            if (failed) *failed = i;
            require(to[i] && from[i] && sizes[i]);
            copy(Side::Space::unified, to[i], Side::Space::unified, from[i], sizes[i], *stream,
                 false);
        }
        if (failed) *failed = SIZE_MAX;
        return CUDA_SUCCESS;
    });
}

std::shared_ptr<Pool> pool_at(const CUmemLocation* place, CUmemAllocationType type, bool first) {
    require(place);
    require(place->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA, CUDA_ERROR_NOT_SUPPORTED);
    Driver& driver = Driver::get();
    const PoolPlace where = PoolPlace::of(driver.devices.size(), type, *place, false);
    return first ? Pool::default_of(driver, where) : Pool::current_of(driver, where);
}

}  // namespace

CUPOLA_API CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                       size_t count, CUmemcpyAttributes* attributes, size_t* places,
                                       size_t kinds, size_t* failed, CUstream stream) {
    return copies(to, from, sizes, count, attributes, places, kinds, failed, stream);
}
CUPOLA_API CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                            size_t count, CUmemcpyAttributes* attributes,
                                            size_t* places, size_t kinds, size_t* failed,
                                            CUstream stream) {
    return copies(to, from, sizes, count, attributes, places, kinds, failed,
                  Stream::per_thread(stream));
}
CUPOLA_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                          size_t count, CUmemcpyAttributes* attributes,
                                          size_t* places, size_t kinds, CUstream stream) {
    return copies(to, from, sizes, count, attributes, places, kinds, nullptr, stream);
}
CUPOLA_API CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                               size_t count, CUmemcpyAttributes* attributes,
                                               size_t* places, size_t kinds, CUstream stream) {
    return copies(to, from, sizes, count, attributes, places, kinds, nullptr,
                  Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* place,
                                           CUmemAllocationType type) {
    return entry([&] {
        require(pool);
        *pool = pool_at(place, type, true)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* place,
                                    CUmemAllocationType type) {
    return entry([&] {
        require(pool);
        *pool = pool_at(place, type, false)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemSetMemPool(CUmemLocation* place, CUmemAllocationType type,
                                    CUmemoryPool pool) {
    return entry([&] {
        auto fresh = Driver::get().pools.get(pool, CUDA_ERROR_INVALID_VALUE);
        const auto before = pool_at(place, type, false);
        require(fresh->place() == before->place() && !fresh->imported());
        Pool::set_current(std::move(fresh));
        return CUDA_SUCCESS;
    });
}
