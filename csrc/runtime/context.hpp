// csrc/runtime/context.hpp - a device's primary context and what is asked of it all the time.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "runtime/driver.hpp"
#include "runtime/object.hpp"

namespace cupola {

class Stream;

// One a device, made when it is first needed, never destroyed.
struct Context {
    int ordinal = 0;
    CUdevice device = 0;
    CUcontext handle = nullptr;
    CUmemoryPool pool = nullptr;  // null: the driver has no stream-ordered pools
    unsigned max_grid[3]{}, max_block[3]{}, max_threads = 0;
    int capability = 0;  // 90 for 9.0
    std::string name;
    Stream* default_stream = nullptr;  // the legacy default stream
    std::mutex mutex;                  // of what follows
    Ref<Object> shipped;               // the module of cupola's own kernels
    std::mutex join_mutex;             // of the event below
    CUevent join = nullptr;            // by which a stream waits for another

    int attribute(CUdevice_attribute attribute) const;
};

// "9.0" of 90.
inline std::string capability_text(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

int device_count();
Context& context(int ordinal);  // throws CUPOLA_ERROR_NOT_FOUND
int current_device();

// Makes a context current for a scope. What was current before is current after it, so that the
// other users of the driver in this process are not disturbed; where nothing was, it stays.
class Current {
  public:
    explicit Current(const Context& context) {
        CUcontext current = nullptr;
        const CUresult code = driver().cuCtxGetCurrent(&current);
        if (__builtin_expect(code != CUDA_SUCCESS || current != context.handle, 0))
            change(context, code, current);
    }
    ~Current() {
        if (__builtin_expect(pushed_, 0)) pop();
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

  private:
    void change(const Context& context, CUresult code, CUcontext current);
    void pop() noexcept;

    bool pushed_ = false;
};

}  // namespace cupola
