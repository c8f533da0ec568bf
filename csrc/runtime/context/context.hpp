// csrc/runtime/context/context.hpp - primary contexts, and the scope that makes one current.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "runtime/base/object.hpp"
#include "runtime/driver/driver.hpp"

namespace cupola {

class Stream;

// Devices of one driver, and devices of all.
constexpr int max_devices = 64, max_ordinals = 2 * max_devices;

// There is one Context for each device, opened at the first use and never destroyed.
struct Context {
    explicit Context(const Driver& driver) : driver(driver) {}

    DriverLink driver;  // first: each launch reads it
    int ordinal = 0;
    CUdevice device = 0;
    CUcontext handle = nullptr;
    CUmemoryPool pool = nullptr;  // null: the driver has no stream-ordered pools
    unsigned max_grid[3]{}, max_block[3]{}, max_threads = 0;
    int capability = 0;  // 90 for 9.0
    std::string name;
    Stream* default_stream = nullptr;  // the legacy default stream
    std::mutex mutex;                  // guards `shipped`
    Ref<Object> shipped;               // the module of cupola's own kernels
    std::mutex join_mutex;             // guards `join`
    CUevent join = nullptr;            // the event by which a stream waits for another

    int attribute(CUdevice_attribute attribute) const;
};

inline bool is_same_driver(const Context& one, const Context& other) {
    return one.driver.alive() == other.driver.alive();
}

// "device 1", or "the CPU device" where it is beside another driver.
std::string device_text(int ordinal);
inline std::string device_text(const Context& context) { return device_text(context.ordinal); }

[[noreturn, gnu::cold]] void fail_driver_mismatch(const Context& one, const char* name,
                                                  const Context& other, const char* other_name);
// Throws where an object can't be used with another one, since their drivers differ.
inline void require_same_driver(const Context& one, const char* name, const Context& other,
                                const char* other_name) {
    if (__builtin_expect(!is_same_driver(one, other), 0))
        fail_driver_mismatch(one, name, other, other_name);
}

// 90 as "9.0".
inline std::string capability_text(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

// Makes a context current for a scope and restores the previous one afterwards, for other users of
// the driver in this process. Where none was current, the context may stay current.
class ContextScope {
  public:
    explicit ContextScope(const Context& context) : context_(context) {
        CUcontext current = nullptr;
        const CUresult code = context.driver->cuCtxGetCurrent(&current);
        if (__builtin_expect(code != CUDA_SUCCESS || current != context.handle, 0))
            change(code, current);
    }
    ~ContextScope() {
        if (__builtin_expect(pushed_, 0)) pop();
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

  private:
    void change(CUresult code, CUcontext current);
    void pop() noexcept;

    const Context& context_;
    bool pushed_ = false;
};

}  // namespace cupola
