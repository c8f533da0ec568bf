// csrc/cpu/device/context/context.hpp - a context: its streams, its sticky error, its limits, and
// the current context of a thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/failure.hpp"
#include "cpu/device/base/operation.hpp"
#include "cpu/device/base/registry.hpp"
#include "cpu/device/context/heap.hpp"
#include "cpu/device/driver/device.hpp"

namespace cupola::cpu {

class Stream;

// The streams of a context, which stream.cpp adds. `mutex` guards the other fields.
struct StreamSet {
    std::mutex mutex;
    std::shared_ptr<Stream> legacy;
    Mark before;  // work that a new stream waits for; its stream is null where no work is pending
    std::vector<std::weak_ptr<Stream>> others;
    // The number of open() calls. A per-thread stream belongs to the call that preceded it.
    std::uint64_t generation = 0;
};

class Context;

// A second handle of a primary context: the context of a green context. The handle is the address
// of this object. `green` is the address of the GreenContext, which removes the view at its end.
struct ContextView {
    const std::shared_ptr<Context> context;
    const void* const green;

    CUcontext handle() const { return reinterpret_cast<CUcontext>(const_cast<ContextView*>(this)); }
    static Registry<ContextView>& all();
};

// An element of a thread's stack of contexts. `view` is null where the handle is the context's own.
struct CurrentContext {
    std::shared_ptr<Context> context;
    std::shared_ptr<const ContextView> view;

    CUcontext handle() const;
};

class Context : public std::enable_shared_from_this<Context> {
  public:
    Context(Device& device, unsigned flags, bool primary);

    CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
    Device& device() const { return device_; }
    Driver& driver() const { return device_.driver(); }
    bool primary() const { return primary_; }
    std::uint64_t id() const { return id_; }

    // Steps of open_context and close_context. Other code calls those two functions.
    void open(unsigned flags, std::shared_ptr<Stream> legacy);
    bool begin_close();  // false if the context is already closed
    void end_close();
    bool alive() const { return alive_.load(std::memory_order_acquire); }
    const std::atomic<bool>& alive_flag() const { return alive_; }

    // After a kernel's first fault, every call returns this error until the context is closed.
    CUresult error() const { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
    void poison(CUresult code, std::string text, std::string assertion = {});
    void check() const {
        require(alive(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        require_success(error());
    }

    std::shared_ptr<Stream> legacy();
    // Held during submission to the legacy stream or to a blocking stream, so that all threads see
    // one order.
    std::mutex& submission() { return submission_; }
    std::vector<std::shared_ptr<Stream>> streams();
    StreamSet& stream_set() { return streams_; }

    std::atomic<unsigned> flags{0};
    std::atomic<int> cache_config{0}, shared_config{0};
    std::size_t get_limit(CUlimit limit);
    void set_limit(CUlimit limit, std::size_t value);
    Heap& heap() { return heap_; }
    // Arguments of launches by device code, and texts of the device runtime.
    Heap& launch_heap() { return launch_heap_; }
    std::atomic<unsigned> attached{0};    // number of attaches since creation
    std::atomic<std::uint64_t> peers{0};  // bit n: access to device n is enabled

    // The thread's current context; throws INVALID_CONTEXT if the thread has none. `usable` also
    // checks that the context has no error.
    static const std::shared_ptr<Context>& current();
    static const std::shared_ptr<Context>& usable() {
        const auto& context = current();
        context->check();
        return context;
    }
    static std::vector<CurrentContext>& stack();

    // Checks the flags of cuCtxCreate, cuCtxSetFlags and cuDevicePrimaryCtxSetFlags.
    static void check_flags(unsigned flags);

  private:
    Device& device_;
    const bool primary_;
    const std::uint64_t id_;
    std::atomic<bool> alive_{false};
    std::atomic<int> error_{CUDA_SUCCESS};

    std::mutex submission_;
    StreamSet streams_;
    std::mutex mutex_;
    std::size_t limits_[CU_LIMIT_MAX] = {};
    Heap heap_{*this, device_}, launch_heap_{*this, device_};
};

}  // namespace cupola::cpu
