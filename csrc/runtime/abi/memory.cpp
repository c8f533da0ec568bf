// csrc/runtime/abi/memory.cpp - the functions of cupola/memory.h.
#include "cupola/memory.h"

#include <algorithm>
#include <cstring>

#include "runtime/context/device.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/memory/ipc.hpp"
#include "runtime/memory/managed.hpp"
#include "runtime/memory/pinned.hpp"
#include "runtime/memory/staging.hpp"

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

int cupola_memory_allocate(int device, size_t bytes, cupola_stream* stream, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        Context& c = context(device);
        *out = wrap(make<DeviceMemory>(c, bytes, stream_or_current(unwrap(stream), c)).detach());
    });
}

uint64_t cupola_memory_address(const cupola_memory* memory) {
    return memory ? unwrap(memory)->address : 0;
}
size_t cupola_memory_size(const cupola_memory* memory) { return memory ? unwrap(memory)->size : 0; }
int cupola_memory_device(const cupola_memory* memory) {
    return memory ? unwrap(memory)->context.ordinal : -1;
}

int cupola_memory_use(cupola_memory* memory, cupola_stream* stream) {
    return guard([&] {
        Memory& m = *unwrap(check_not_null(memory, "memory"));
        m.use(stream_or_current(unwrap(stream), m.context));
    });
}

void cupola_memory_retain(cupola_memory* memory) {
    if (memory) unwrap(memory)->retain();
}
void cupola_memory_release(cupola_memory* memory) {
    if (memory) unwrap(memory)->release();
}

int cupola_memory_allocate_pinned(int device, size_t bytes, unsigned flags, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(allocate_pinned(context(device), bytes, flags).detach());
    });
}

int cupola_memory_register(int device, void* host, size_t bytes, unsigned flags,
                           cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        if (bytes) check_not_null(host, "host");
        *out = wrap(register_host(context(device), host, bytes, flags).detach());
    });
}

int cupola_memory_allocate_managed(int device, size_t bytes, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(allocate_managed(context(device), bytes).detach());
    });
}

int cupola_memory_prefetch(uint64_t address, size_t bytes, int device, cupola_stream* stream) {
    return guard([&] {
        if (bytes) prefetch(address, bytes, device, stream_of(stream));
    });
}

int cupola_memory_advise(uint64_t address, size_t bytes, int advice, int give, int device) {
    return guard([&] { advise(address, bytes, advice, give != 0, device); });
}

int cupola_memory_allocate_exportable(int device, size_t bytes, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(allocate_exportable(context(device), bytes).detach());
    });
}

int cupola_memory_export(const cupola_memory* memory, void* handle) {
    return guard([&] {
        const Memory& m = *unwrap(check_not_null(memory, "memory"));
        check_not_null(handle, "handle");
        const CUipcMemHandle made = export_memory(m);
        std::memcpy(handle, &made, sizeof made);
    });
}

int cupola_memory_import(int device, const void* handle, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        CUipcMemHandle given;
        std::memcpy(&given, check_not_null(handle, "handle"), sizeof given);
        *out = wrap(import_memory(context(device), given).detach());
    });
}

int cupola_address_device(uint64_t address, int* device) {
    return guard([&] {
        check_not_null(device, "device");
        int ordinal = -1;
        ContextScope current(context(current_device()));  // a new thread has no current context
        CUresult code =
            driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
        if (code != CUDA_ERROR_INVALID_VALUE) check(code, "cuPointerGetAttribute");
        *device = code == CUDA_SUCCESS ? ordinal : -1;
    });
}

int cupola_address_describe(uint64_t address, cupola_address_info* out) {
    return guard([&] { *check_not_null(out, "out") = describe_address(address); });
}

int cupola_pool_get(int device, cupola_pool_info* out) {
    return guard([&] {
        check_not_null(out, "out");
        CUmemoryPool pool = pool_of(device);
        ContextScope current(context(device));
        const RelaxedCapture relaxed;
        const uint64_t used = read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        *out = {used - std::min<uint64_t>(used, StreamFreeList::bytes(context(device))),
                read(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH),
                read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
                read(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
                read(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)};
    });
}

int cupola_pool_reset_high(int device) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        ContextScope current(context(device));
        const RelaxedCapture relaxed;
        StreamFreeList::flush(context(device));  // otherwise the pool counts these blocks as in use
        cuuint64_t zero = 0;
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
    });
}

int cupola_pool_trim(int device, uint64_t keep) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        ContextScope current(context(device));
        const RelaxedCapture relaxed;
        StreamFreeList::flush(context(device));
        CUPOLA_CALL(cuMemPoolTrimTo, pool, keep);
        if (driver().debug())
            log("trim the pool of device " + std::to_string(device) + " to " +
                std::to_string(keep) + " bytes");
    });
}

int cupola_pool_set_release_threshold(int device, uint64_t bytes) {
    return guard([&] {
        CUmemoryPool pool = pool_of(device);
        ContextScope current(context(device));
        const RelaxedCapture relaxed;
        cuuint64_t value = bytes;
        CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value);
    });
}
