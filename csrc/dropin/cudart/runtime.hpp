// csrc/dropin/cudart/runtime.hpp - the state of the process and of each thread, and the frame that
// every exported function runs in.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include "dropin/cudart/driver.hpp"

namespace cupola::cudart {

// The runtime's state of each thread.
struct Thread {
    cudaError_t last = cudaSuccess;
    int device = -1;          // chosen by cudaSetDevice; -1: the first valid one
    unsigned generation = 0;  // Runtime::generation() at the last check of the thread's context
};
extern thread_local Thread this_thread;

extern const int runtime_major;  // 12 or 13: this library's version

class Runtime {
  public:
    static Runtime& get();

    // Loads and initializes the driver at the first call. No context is needed.
    cudaError_t start();
    // Start, and make sure that this thread has a current context: one that the program made
    // current itself, or the primary context of the thread's device.
    cudaError_t enter() {
        CUcontext current = nullptr;
        if (__builtin_expect(this_thread.generation == generation_.load(std::memory_order_acquire),
                             1) &&
            driver_tables[0].CtxGetCurrent(&current) == CUDA_SUCCESS && current)
            return cudaSuccess;
        return enter_slowly();
    }

    int count() const { return static_cast<int>(devices_.size()); }
    // The driver's device of an ordinal; false: the ordinal has no device.
    bool find(int ordinal, CUdevice& device) const;
    int ordinal_of(CUdevice device) const;
    // The ordinal of the current context's device, or chosen().
    cudaError_t current(int& ordinal);
    // Chooses a device, and makes its primary context current.
    cudaError_t choose(int ordinal);
    // The primary context of a device.
    cudaError_t primary_of(int ordinal, CUcontext& context);
    // Whether a context is the primary one of a device.
    bool is_primary(CUcontext context, int ordinal);
    // Ordinals that threads without a choice try, in this order.
    cudaError_t prefer(const int* ordinals, int count);
    // Destroys the primary context of the thread's device with everything in it. It does nothing
    // where the program has made another context current, or the thread has no device yet.
    cudaError_t reset();
    bool was_reset(int ordinal);
    // Whether the primary context is alive, by this library or another.
    bool is_active(int ordinal) const;

  private:
    struct Device {
        CUdevice device = 0;
        CUcontext primary = nullptr;
        bool retained = false;
        bool was_reset = false;
    };
    Runtime() = default;
    cudaError_t load();
    cudaError_t enter_slowly();
    cudaError_t bind(int ordinal);
    cudaError_t retain(Device& device);
    int chosen();
    static void end();

    // Each thread compares its own generation with this one, which increases when a context ends.
    // No thread's generation is `ended`.
    static constexpr unsigned ended = ~0u;
    std::atomic<unsigned> generation_{1};
    std::once_flag loaded_;
    cudaError_t load_error_ = cudaSuccess;
    std::vector<Device> devices_;  // constant after load()
    std::vector<int> preferred_;
    std::mutex mutex_;  // guards `retained` and `preferred_`
};

// An exported function's result is also the thread's last error.
inline cudaError_t record(cudaError_t result) {
    if (__builtin_expect(result != cudaSuccess && result != cudaErrorNotReady, 0))
        this_thread.last = result;
    return result;
}

// The two enumerations have the same numbers, but for those that the callers translate.
inline cudaError_t result_of(CUresult result) { return static_cast<cudaError_t>(result); }
inline cudaError_t result_of(cudaError_t result) { return result; }

template <class Call>
cudaError_t call_safely(Call& call) noexcept {
    try {
        return result_of(call(driver_tables[per_thread]));
    } catch (const std::bad_alloc&) {
        return cudaErrorMemoryAllocation;
    } catch (...) {
        return cudaErrorUnknown;
    }
}

// Runs an exported function's body with the driver's table, in a current context.
template <class Call>
cudaError_t entry(Call call) noexcept {
    const cudaError_t entered = Runtime::get().enter();
    return record(entered == cudaSuccess ? call_safely(call) : entered);
}

// Runs an exported function's body with the driver's table, without a context.
template <class Call>
cudaError_t entry_without_context(Call call) noexcept {
    const cudaError_t started = Runtime::get().start();
    return record(started == cudaSuccess ? call_safely(call) : started);
}

// Runs a body with the driver's table and the device of an ordinal, without a context. `missing` is
// the result if there is no such device.
template <class Call>
cudaError_t entry_with_device(int ordinal, Call call,
                              cudaError_t missing = cudaErrorInvalidDevice) noexcept {
    return entry_without_context([&](const Driver& d) {
        CUdevice device = 0;
        return Runtime::get().find(ordinal, device) ? result_of(call(d, device)) : missing;
    });
}

}  // namespace cupola::cudart
