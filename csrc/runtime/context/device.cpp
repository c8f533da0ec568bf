// csrc/runtime/context/device.cpp - opens the primary contexts of devices and keeps them.
#include "runtime/context/device.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "cupola/device.h"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/lifetime/retained_object.hpp"

namespace cupola {
namespace {

// The contexts by ordinal. Where the CPU device was loaded before it became the main driver, the
// main driver's ordinals and those from CUPOLA_CPU_DEVICE lead to the same contexts.
std::atomic<Context*> contexts[max_ordinals];
static_assert(CUPOLA_CPU_DEVICE == max_devices,
              "the CPU device's ordinals follow the main driver's");

thread_local bool ever_pushed_device = false;

// The drivers of the devices that this thread pushed.
std::vector<const Driver*>& pushed_drivers() {
    thread_local std::vector<const Driver*> drivers;
    return drivers;
}

// The driver of this thread's current device.
const Driver& current_driver() {
    if (__builtin_expect(!ever_pushed_device || pushed_drivers().empty(), 1)) return main_driver();
    require_drivers();
    return *pushed_drivers().back();
}

// The pool may keep unused memory up to a quarter of the device's. It returns the rest at the next
// synchronization.
CUmemoryPool make_pool(const Context& context) {
    const Driver& d = context.driver;
    if (!d.cuMemPoolCreate || !d.cuMemPoolSetAttribute || !d.cuMemAllocFromPoolAsync ||
        !d.cuMemFreeAsync || !context.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return nullptr;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = context.device;
    CUmemoryPool pool = nullptr;
    CUPOLA_CALL(d, cuMemPoolCreate, &pool, &properties);
    std::size_t total = 0;
    CUPOLA_CALL(d, cuDeviceTotalMem, &total, context.device);
    cuuint64_t threshold = total / 4;
    CUPOLA_CALL(d, cuMemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    return pool;
}

Context* open(const Driver& driver, int number) {
    auto context = std::make_unique<Context>(driver);
    Context& c = *context;
    c.ordinal = driver.first_ordinal + number;
    CUPOLA_CALL(driver, cuDeviceGet, &c.device, number);
    CUPOLA_CALL(driver, cuDevicePrimaryCtxRetain, &c.handle, c.device);
    char name[256] = "";
    CUPOLA_CALL(driver, cuDeviceGetName, name, sizeof name, c.device);
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
    const RelaxedCapture relaxed(c.driver);  // a stream of another device may be captured
    c.pool = make_pool(c);
    c.default_stream = new Stream(c, CU_STREAM_LEGACY);
    if (c.pool) c.default_stream->free_list.open();
    c.driver.publish();
    return context.release();
}

}  // namespace

int device_count() {
    int count = 0;
    CUPOLA_CALL(main_driver(), cuDeviceGetCount, &count);
    return std::min(count, max_devices);
}

int canonical_device(int ordinal) {
    if (ordinal >= max_devices) return cpu_driver().first_ordinal + ordinal - max_devices;
    return ordinal < 0 ? ordinal : main_driver().first_ordinal + ordinal;
}

Context& context(int ordinal) {
    if (ordinal >= 0 && ordinal < max_ordinals)
        if (Context* c = contexts[ordinal].load(std::memory_order_acquire)) {
            c->driver.get();  // a forked child must not touch inherited state
            return *c;
        }
    const bool beside = ordinal >= max_devices;
    const Driver& driver = beside ? cpu_driver() : main_driver();
    const int number = beside ? ordinal - max_devices : ordinal;
    int count = 0;
    CUPOLA_CALL(driver, cuDeviceGetCount, &count);
    count = std::min(count, max_devices);
    if (number < 0 || number >= count)
        fail(CUPOLA_ERROR_NOT_FOUND, "there is no device " + std::to_string(number) + ": the " +
                                         (driver.cpu ? "CPU" : "CUDA") + " driver has " +
                                         std::to_string(count) +
                                         (count == 1 ? " device, 0" : " devices, from 0"));
    static std::mutex* const mutex = new std::mutex;
    std::lock_guard<std::mutex> lock(*mutex);
    auto& own = contexts[driver.first_ordinal + number];
    Context* c = own.load(std::memory_order_acquire);
    if (!c) own.store(c = open(driver, number), std::memory_order_release);
    contexts[ordinal].store(c, std::memory_order_release);
    return *c;
}

namespace {

// The device of the driver's current context in this thread.
int current_ordinal(const Driver& d) {
    CUcontext current = nullptr;
    check(d, d.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (!current) return d.first_ordinal;
    for (auto& slot : contexts)
        if (Context* c = slot.load(std::memory_order_acquire);
            c && c->handle == current && c->driver.alive() == &d)
            return c->ordinal;
    CUdevice device = 0;
    check(d, d.cuCtxGetDevice(&device), "cuCtxGetDevice");
    return d.first_ordinal + device;  // a CUdevice is its number
}

// Calls `look` for the preferred driver and then for the other driver, until it returns true.
template <class Look>
void each_driver(const Driver* preferred, Look&& look) {
    if (look(*preferred)) return;
    for (const Driver* other : {main_driver_alive(), cpu_driver_alive()})
        if (other && other != preferred) {
            look(*other);
            return;
        }
}

// The driver to ask first about an address: the driver of the current device, if it is loaded.
const Driver* likely_driver() {
    if (ever_pushed_device && !pushed_drivers().empty()) return &current_driver();
    const Driver* const cpu = main_driver_alive() ? nullptr : cpu_driver_alive();
    return cpu ? cpu : &main_driver();
}

}  // namespace

int current_device() { return current_ordinal(current_driver()); }

void push_device(int ordinal) {
    const Context& c = context(ordinal);
    const Driver& d = c.driver;
    pushed_drivers().reserve(pushed_drivers().size() + 1);
    CUPOLA_CALL(d, cuCtxPushCurrent, c.handle);
    pushed_drivers().push_back(&d);
    ever_pushed_device = true;
}

void pop_device() {
    const Driver& d = current_driver();
    CUcontext popped = nullptr;
    CUPOLA_CALL(d, cuCtxPopCurrent, &popped);
    if (!pushed_drivers().empty()) pushed_drivers().pop_back();
}

int host_device() {
    if (ever_pushed_device && !pushed_drivers().empty())
        if (const Driver& pushed = current_driver(); pushed.cpu) return current_ordinal(pushed);
    const Driver& driver = cpu_tensors_wanted() ? cpu_driver() : main_driver();
    return driver.cpu ? driver.first_ordinal : -1;
}

int device_of_address(const Driver& driver, std::uint64_t address) {
    int number = -1;
    const CUresult code =
        driver.cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
    if (code != CUDA_ERROR_INVALID_VALUE) check(driver, code, "cuPointerGetAttribute");
    return code || number < 0 ? -1 : driver.first_ordinal + number;
}

int device_of_address(std::uint64_t address, int device) {
    int found = -1;
    each_driver(device < 0 ? likely_driver() : &context(device).driver.get(), [&](const Driver& d) {
        // A new thread has no current context.
        const ContextScope current(context(current_ordinal(d)));
        found = device_of_address(d, address);
        return found >= 0;
    });
    return found;
}

cupola_address_info describe_address(std::uint64_t address) {
    cupola_address_info info{-1, 0, 0};
    each_driver(likely_driver(), [&](const Driver& d) {
        int number = -1;
        unsigned type = 0;
        bool managed = false;
        CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                       CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       CU_POINTER_ATTRIBUTE_IS_MANAGED};
        void* values[] = {&number, &type, &managed};
        const ContextScope current(context(current_ordinal(d)));
        CUPOLA_CALL(d, cuPointerGetAttributes, 3, names, values, address);
        if (type == 0) return false;
        info = {d.first_ordinal + number, type == CU_MEMORYTYPE_HOST && !managed, managed};
        return true;
    });
    return info;
}

AddressRange range_of_address(std::uint64_t address, int device) {
    const Context& where = context(device);
    const Driver& d = where.driver;
    unsigned type = 0;
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void* values[] = {&type, &begin, &size};
    {
        const ContextScope current(where);
        CUPOLA_CALL(d, cuPointerGetAttributes, 3, names, values, address);
    }
    if (type == 0 || address - begin >= size) return {};
    AddressRange own;
    if (RetainedObject::find_range(address, own.begin, own.size) && own.begin >= begin &&
        own.begin - begin + own.size <= size)
        return own;
    return {begin, size};
}

void open_pool(const Context& peer, const Context& device, bool enable) {
    if (!peer.pool || !peer.driver->cuMemPoolSetAccess) return;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device.device;
    access.flags = enable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUPOLA_CALL(peer.driver, cuMemPoolSetAccess, peer.pool, &access, 1);
}

bool is_exportable(std::uint64_t address) {
    unsigned exportable = 0;
    each_driver(likely_driver(), [&](const Driver& d) {
        unsigned type = 0;
        CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
        void* values[] = {&type, &exportable};
        const ContextScope current(context(current_ordinal(d)));
        CUPOLA_CALL(d, cuPointerGetAttributes, 2, names, values, address);
        return type != 0;
    });
    return exportable != 0;
}

Stream& stream_of(cupola_stream* stream) {
    return stream ? *unwrap(stream) : current_stream(context(current_device()));
}

}  // namespace cupola
