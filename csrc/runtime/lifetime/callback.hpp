// csrc/runtime/lifetime/callback.hpp - host functions that the driver calls in stream order.
//
// They run on a thread of the driver, where the driver must not be called.
#pragma once

#include <atomic>

#include "runtime/driver/driver.hpp"
#include "runtime/lifetime/owner.hpp"

namespace cupola {

class Callback : public Owner {
  public:
    Callback(void (*call)(void*), void* data, void (*release)(void*))
        : Owner(data, release), call_(call) {}

    // Safe on the driver's thread: deleting a callback calls no driver function.
    void end() noexcept override { delete this; }

    // Call this before passing the callback to the driver. Keeps the callback alive, and counts it
    // as pending, until it has run.
    void expect() noexcept;
    // Undoes expect() where the driver did not accept it.
    void give_up() noexcept;

    // The function that the driver calls, with the callback as its data.
    static void CUDA_CB run(void* callback);

    // The number of pending callbacks in the process.
    static std::atomic<int> pending;

  private:
    void (*call_)(void*);
};

}  // namespace cupola
