// csrc/cpu/device/driver/driver.hpp - the driver of the process: its devices and their shared
// state, and the wrapper of every entry point.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cpu/base/settings.hpp"
#include "cpu/device/base/driver_state.hpp"
#include "cpu/device/base/executor.hpp"
#include "cpu/device/base/failure.hpp"
#include "cpu/device/base/host_function.hpp"
#include "cpu/device/base/log.hpp"
#include "cpu/device/base/quiesce.hpp"
#include "cpu/device/base/registry.hpp"
#include "cpu/device/driver/capture_table.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/driver/graph_memory_table.hpp"
#include "cpu/device/driver/pool_place.hpp"
#include "cpu/device/driver/texture_table.hpp"
#include "cpu/device/memory/mem_advise.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/memory/virtual_memory.hpp"
#include "cpu/device/scheduler/scheduler.hpp"

namespace cupola::cpu {

class Array;
class Context;
struct ContextView;
class Event;
class Function;
class Graph;
class GraphExec;
class GreenContext;
class Library;
class LibraryKernel;
class Link;
class MipmappedArray;
class Module;
struct Node;
class Pool;
class Stream;
class UserObject;
class TextureReference;

constexpr int driver_version = 13000;  // the CUDA version that cuDriverGetVersion returns

// Never destroyed: threads may run blocks while static objects are destroyed.
class Driver {
  public:
    explicit Driver(const Settings& settings);
    // The driver of a process whose cuInit has succeeded. Only the entry points in cpu/api call
    // this function; the objects below hold what they need of the driver.
    static Driver& get() { return *instance.load(std::memory_order_acquire); }
    static void set(Driver& driver) { instance.store(&driver, std::memory_order_release); }

    Device& device(CUdevice ordinal);
    Budget& budget(const Allocation& allocation);

    Settings settings;
    std::vector<std::unique_ptr<Device>> devices;
    MemoryMap memory{settings.checks};
    VirtualMemory virtual_memory{memory};
    AdviceMap advice;
    Budget host_memory;  // limits pinned memory, like a device's budget
    Scheduler scheduler;
    Executors executors;
    QuiesceGate gate;

    Registry<Context> contexts;
    Registry<ContextView> context_views;
    Registry<GreenContext> green_contexts;
    Registry<Stream> streams;
    Registry<Event> events;
    Registry<Module> modules;
    Registry<Function> functions;
    Registry<Library> libraries;
    Registry<LibraryKernel> kernels;
    Registry<Link> links;
    Registry<Pool> pools;
    PoolTable pools_by_place;
    // Guards changes of graphs by the program and by captures, and the captures.
    std::mutex graph_mutex;
    CaptureTable captures;
    Registry<Graph> graphs;
    Registry<Node> nodes;
    Registry<GraphExec> graph_execs;
    GraphMemoryTable graph_memory;
    Registry<UserObject> user_objects;
    Registry<Array> arrays;
    Registry<MipmappedArray> mipmapped_arrays;
    TextureTable textures;
    Registry<TextureReference> texture_references;

    // The ids of the last objects. The default streams have the ids 1 and 2, and the ids of green
    // contexts are larger than those of contexts.
    std::atomic<std::uint64_t> last_context_id{0}, last_green_context_id{std::uint64_t{1} << 32};
    std::atomic<std::uint64_t> last_stream_id{2}, last_capture_id{0}, last_grid_id{0};

    // The last fault in one line; empty if no kernel has failed.
    std::string last_fault() const;
    // As Fault::assertion; empty if the last fault was no assertion.
    std::string last_assertion() const;
    void set_last_fault(std::string text, std::string assertion);

  private:
    static std::atomic<Driver*> instance;
    mutable std::mutex fault_mutex_;
    std::string fault_, assertion_;
};

// Delivers log lines at the end, when no lock is held.
template <class Body>
CUresult guarded(Body&& body) {
    const CUresult result = result_of(body);
    Log::tell();
    return result;
}

template <class Body>
CUresult entry(Body&& body) {
    const CUresult state = DriverState::unlocked();
    if (__builtin_expect(state != CUDA_SUCCESS, 0)) return state;
    if (__builtin_expect(in_host_function, 0)) return CUDA_ERROR_NOT_PERMITTED;
    return guarded(body);
}

}  // namespace cupola::cpu
