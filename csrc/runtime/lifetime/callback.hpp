// csrc/runtime/lifetime/callback.hpp - functions of the program that run in a stream's order, on a
// thread of the driver's. There the driver must not be called.
#pragma once

#include <atomic>

#include "runtime/base/object.hpp"
#include "runtime/driver/driver.hpp"

namespace cupola {

class Callback : public Object {
  public:
    Callback(void (*call)(void*), void* data, void (*release)(void*))
        : call_(call), data_(data), release_(release) {}
    ~Callback() override {
        if (release_) release_(data_);
    }

    // Nothing of a callback's own end calls the driver.
    void end() noexcept override { delete this; }

    // Before the driver is given it: it is held, and counted as pending, until it has run.
    void expect() noexcept;
    // The driver did not take it.
    void give_up() noexcept;
    // The caller keeps what `release` would have let go.
    void disown() noexcept { release_ = nullptr; }

    // What the driver calls, with the callback as its data.
    static void CUDA_CB run(void* callback);

    // How many are on their way, in the whole process.
    static std::atomic<int> pending;

  private:
    void (*call_)(void*);
    void* data_;
    void (*release_)(void*);
};

}  // namespace cupola
