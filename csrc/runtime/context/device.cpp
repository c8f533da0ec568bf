// csrc/runtime/context/device.cpp - opens the primary contexts of devices and keeps them.
#include "runtime/context/device.hpp"

#include <atomic>
#include <memory>

#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

constexpr int most_devices = 64;
std::atomic<Context*> contexts[most_devices];

// The pool may keep unused memory up to a quarter of the device's. It returns the rest at the next
// synchronization.
CUmemoryPool make_pool(const Context& context) {
    const Driver& d = driver();
    if (!d.cuMemPoolCreate || !d.cuMemPoolSetAttribute || !d.cuMemAllocFromPoolAsync ||
        !d.cuMemFreeAsync || !context.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return nullptr;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = context.device;
    CUmemoryPool pool = nullptr;
    CUPOLA_CALL(cuMemPoolCreate, &pool, &properties);
    std::size_t total = 0;
    CUPOLA_CALL(cuDeviceTotalMem, &total, context.device);
    cuuint64_t threshold = total / 4;
    CUPOLA_CALL(cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    return pool;
}

Context* open(int ordinal) {
    auto context = std::make_unique<Context>();
    Context& c = *context;
    c.ordinal = ordinal;
    CUPOLA_CALL(cuDeviceGet, &c.device, ordinal);
    CUPOLA_CALL(cuDevicePrimaryCtxRetain, &c.handle, c.device);
    char name[256] = "";
    CUPOLA_CALL(cuDeviceGetName, name, sizeof name, c.device);
    c.name = name;
    c.max_grid[0] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    c.max_grid[1] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    c.max_grid[2] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    c.max_block[0] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    c.max_block[1] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    c.max_block[2] = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    c.max_threads = c.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    c.capability = c.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                   c.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    ContextScope current(c);
    const RelaxedCapture relaxed;  // a stream of another device may be captured
    c.pool = make_pool(c);
    c.default_stream = new Stream(c, CU_STREAM_LEGACY);
    if (c.pool) c.default_stream->free_list.open();
    return context.release();
}

}  // namespace

int device_count() {
    int count = 0;
    CUPOLA_CALL(cuDeviceGetCount, &count);
    return count < most_devices ? count : most_devices;
}

Context& context(int ordinal) {
    driver();  // first: a forked child must not touch inherited state
    if (ordinal >= 0 && ordinal < most_devices)
        if (Context* c = contexts[ordinal].load(std::memory_order_acquire)) return *c;
    int count = device_count();
    if (ordinal < 0 || ordinal >= count)
        fail(CUPOLA_ERROR_NOT_FOUND, "there is no device " + std::to_string(ordinal) + ": the " +
                                         (driver().cpu ? "CPU" : "CUDA") + " driver has " +
                                         std::to_string(count) +
                                         (count == 1 ? " device, 0" : " devices, from 0"));
    static std::mutex* const mutex = new std::mutex;
    std::lock_guard<std::mutex> lock(*mutex);
    Context* c = contexts[ordinal].load(std::memory_order_acquire);
    if (!c) contexts[ordinal].store(c = open(ordinal), std::memory_order_release);
    return *c;
}

int current_device() {
    const Driver& d = driver();
    CUcontext current = nullptr;
    check(d.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (!current) return 0;
    for (auto& slot : contexts)
        if (Context* c = slot.load(std::memory_order_acquire); c && c->handle == current)
            return c->ordinal;
    CUdevice device = 0;
    check(d.cuCtxGetDevice(&device), "cuCtxGetDevice");
    return device;  // a CUdevice is its ordinal
}

Stream& stream_of(cupola_stream* stream) {
    return stream ? *unwrap(stream) : current_stream(context(current_device()));
}

}  // namespace cupola
