// csrc/runtime/abi/memory.cpp - the functions of cupola/memory.h.
#include "cupola/memory.h"

#include <algorithm>
#include <cstring>

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/memory/ipc.hpp"
#include "runtime/memory/managed.hpp"
#include "runtime/memory/pinned.hpp"
#include "runtime/memory/staging.hpp"

using namespace cupola;

namespace {

CUmemoryPool pool_of(const Context& c) {
    if (!c.pool || !c.driver->cuMemPoolGetAttribute || !c.driver->cuMemPoolTrimTo)
        fail_driver(c.driver, CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate",
                    device_text(c) + " has no stream-ordered memory pool");
    return c.pool;
}

uint64_t read(const Context& c, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    CUPOLA_CALL(c.driver, cuMemPoolGetAttribute, c.pool, attribute, &value);
    return value;
}

}  // namespace

int cupola_memory_allocate(int device, size_t bytes, cupola_stream* stream, cupola_memory** out) {
    return guard([&] {
        check_not_null(out, "out");
        Context& c = context(device);
        Stream& s = stream_or_current(unwrap(stream), c);
        require_same_driver(s.context, "the stream", c, "the memory");
        *out = wrap(make<DeviceMemory>(c, bytes, s).detach());
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
        Stream& s = stream_or_current(unwrap(stream), m.context);
        Capture::require_contents(s, {m.address});
        m.use(s);
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
        *device = device_of_address(address);
    });
}

int cupola_address_find(uint64_t address, int device, int* out) {
    return guard([&] { *check_not_null(out, "out") = device_of_address(address, device); });
}

int cupola_address_describe(uint64_t address, cupola_address_info* out) {
    return guard([&] { *check_not_null(out, "out") = describe_address(address); });
}

int cupola_address_range(uint64_t address, int device, uint64_t* begin, size_t* size) {
    return guard([&] {
        check_not_null(begin, "begin");
        check_not_null(size, "size");
        const AddressRange found = range_of_address(address, device);
        *begin = found.begin;
        *size = found.size;
    });
}

int cupola_address_exportable(uint64_t address, int* out) {
    return guard([&] { *check_not_null(out, "out") = is_exportable(address); });
}

int cupola_pool_get(int device, cupola_pool_info* out) {
    return guard([&] {
        check_not_null(out, "out");
        const Context& c = context(device);
        pool_of(c);
        ContextScope current(c);
        const RelaxedCapture relaxed(c.driver);
        const uint64_t used = read(c, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        *out = {
            used - std::min<uint64_t>(used, StreamFreeList::bytes(c)),
            read(c, CU_MEMPOOL_ATTR_USED_MEM_HIGH), read(c, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
            read(c, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), read(c, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)};
    });
}

int cupola_pool_reset_high(int device) {
    return guard([&] {
        const Context& c = context(device);
        CUmemoryPool pool = pool_of(c);
        ContextScope current(c);
        const RelaxedCapture relaxed(c.driver);
        StreamFreeList::flush(c);  // otherwise the pool would count these pieces as in use
        cuuint64_t zero = 0;
        CUPOLA_CALL(c.driver, cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
        CUPOLA_CALL(c.driver, cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                    &zero);
    });
}

int cupola_pool_trim(int device, uint64_t keep) {
    return guard([&] {
        const Context& c = context(device);
        CUmemoryPool pool = pool_of(c);
        ContextScope current(c);
        const RelaxedCapture relaxed(c.driver);
        StreamFreeList::flush(c);
        CUPOLA_CALL(c.driver, cuMemPoolTrimTo, pool, keep);
        if (c.driver->debug())
            log("trim the pool of " + device_text(c) + " to " + std::to_string(keep) + " bytes");
    });
}

int cupola_pool_set_release_threshold(int device, uint64_t bytes) {
    return guard([&] {
        const Context& c = context(device);
        CUmemoryPool pool = pool_of(c);
        ContextScope current(c);
        const RelaxedCapture relaxed(c.driver);
        cuuint64_t value = bytes;
        CUPOLA_CALL(c.driver, cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                    &value);
    });
}
