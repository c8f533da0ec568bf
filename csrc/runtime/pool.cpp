// csrc/runtime/pool.cpp - what a device's pool holds, and how much of it stays.
#include <algorithm>

#include "runtime/capture.hpp"
#include "runtime/context.hpp"
#include "runtime/spare.hpp"

using namespace cupola;

namespace {

CUmemoryPool pool_of(int device) {
    Context& c = context(device);
    if (!c.pool || !driver().cuMemPoolGetAttribute || !driver().cuMemPoolTrimTo)
        fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate",
                    "device " + std::to_string(device) + " has no stream-ordered memory pool");
    return c.pool;
}

uint64_t read(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    CUPOLA_CALL(cuMemPoolGetAttribute, pool, attribute, &value);
    return value;
}

}  // namespace

int cupola_pool_get(int device, cupola_pool_info* out) {
    return guard([&] {
        required(out, "out");
        CUmemoryPool pool = pool_of(device);
        Current current(context(device));
        const Capture::Relaxed relaxed;
        const uint64_t used = read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        *out = {used - std::min<uint64_t>(used, Spare::bytes(context(device))),
                read(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH),
                read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
                read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
                read(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)};
    });
}

int cupola_pool_reset_high(int device) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        Current current(context(device));
        const Capture::Relaxed relaxed;
        Spare::flush(context(device));  // else it would count as handed out
        cuuint64_t zero = 0;
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
    });
}

int cupola_pool_trim(int device, uint64_t keep) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        Current current(context(device));
        const Capture::Relaxed relaxed;
        Spare::flush(context(device));
        CUPOLA_CALL(cuMemPoolTrimTo, pool, keep);
        if (driver().debug())
            log("trim the pool of device " + std::to_string(device) + " to " +
                std::to_string(keep) + " bytes");
    });
}

int cupola_pool_set_release_threshold(int device, uint64_t bytes) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        Current current(context(device));
        const Capture::Relaxed relaxed;
        cuuint64_t value = bytes;
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    });
}
