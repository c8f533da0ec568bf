// csrc/cpu/driver.hpp - the process's one driver: its devices, what they share, and the gate every
// entry point passes.
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cpu/device.hpp"
#include "cpu/executor.hpp"
#include "cpu/failure.hpp"
#include "cpu/log.hpp"
#include "cpu/mem_advise.hpp"
#include "cpu/memory.hpp"
#include "cpu/quiesce.hpp"
#include "cpu/registry.hpp"
#include "cpu/scheduler.hpp"
#include "cpu/settings.hpp"
#include "cpu/texture_table.hpp"
#include "cpu/virtual_memory.hpp"

namespace cupola::cpu {

class Array;
class Context;
class Event;
class Function;
class Graph;
class GraphExec;
struct Node;
class LibraryKernel;
class Library;
class MipmappedArray;
class Module;
class Pool;
class Stream;
class UserObject;
class TextureReference;

// Never destroyed: threads may still run blocks while the process's static objects end.
class Driver {
  public:
    static CUresult initialize(unsigned flags);
    // The driver of a process whose cuInit has succeeded.
    static Driver& get() { return *instance.load(std::memory_order_acquire); }

    // SUCCESS while the driver serves; NOT_INITIALIZED before cuInit and in a forked child;
    // DEINITIALIZED once the process is ending.
    static CUresult state() {
        return static_cast<CUresult>(state_.load(std::memory_order_acquire));
    }

    Device& device(CUdevice ordinal);
    Budget& budget(const Allocation& allocation);

    Settings settings;
    std::vector<std::unique_ptr<Device>> devices;
    MemoryMap memory{settings.checks};
    VirtualMemory virtual_memory{memory};
    AdviceMap advice;
    Budget host_memory;  // pinned memory is bounded like a device's
    Scheduler scheduler;
    Executors executors;
    QuiesceGate gate;

    Registry<Context> contexts;
    Registry<Stream> streams;
    Registry<Event> events;
    Registry<Module> modules;
    Registry<Function> functions;
    Registry<Library> libraries;
    Registry<LibraryKernel> kernels;
    Registry<Pool> pools;
    Registry<Graph> graphs;
    Registry<Node> nodes;
    Registry<GraphExec> graph_execs;
    Registry<UserObject> user_objects;
    Registry<Array> arrays;
    Registry<MipmappedArray> mipmapped_arrays;
    TextureTable textures;
    Registry<TextureReference> texture_references;

    // What the last fault was, in one line; empty where there was none.
    std::string last_fault() const;
    void set_last_fault(std::string text);

  private:
    explicit Driver(const Settings& settings);
    static void shutdown();

    static std::atomic<Driver*> instance;
    static std::atomic<int> state_;
    mutable std::mutex fault_mutex_;
    std::string fault_;
};

// True on a thread that is inside a host function of a stream, where CUDA calls are refused.
extern thread_local bool in_host_function;

// Runs the body of an entry point: a result for every way out, and no C++ exception beyond it.
template <class Body>
CUresult result_of(Body&& body) {
    try {
        return body();
    } catch (const Failure& failure) {
        return failure.code;
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (abi::__forced_unwind&) {
        throw;  // a thread being cancelled must be let go
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

// And tells what there is to tell, when everything is let go.
template <class Body>
CUresult guarded(Body&& body) {
    const CUresult result = result_of(body);
    Log::tell();
    return result;
}

template <class Body>
CUresult entry(Body&& body) {
    const CUresult state = Driver::state();
    if (__builtin_expect(state != CUDA_SUCCESS, 0)) return state;
    if (__builtin_expect(in_host_function, 0)) return CUDA_ERROR_NOT_PERMITTED;
    return guarded(body);
}

}  // namespace cupola::cpu
