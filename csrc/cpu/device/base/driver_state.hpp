// csrc/cpu/device/base/driver_state.hpp - whether the driver of the process works.
#pragma once

#include <atomic>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class DriverState {
  public:
    // SUCCESS while the driver works; NOT_INITIALIZED before cuInit and in a forked child;
    // DEINITIALIZED at process exit.
    static CUresult get() {
        const int state = value.load(std::memory_order_acquire);
        return state == locked ? CUDA_SUCCESS : static_cast<CUresult>(state);
    }
    static void set(CUresult state) { value.store(state, std::memory_order_release); }
    // Changes the state from SUCCESS to DEINITIALIZED. False if the state was not SUCCESS.
    static bool end();

    // As get(), but waits while the process is locked: the state for an entry point.
    static CUresult unlocked() {
        const int state = value.load(std::memory_order_acquire);
        return __builtin_expect(state == locked, 0) ? await() : static_cast<CUresult>(state);
    }
    // Entry points wait between lock() and unlock(). lock() is false unless the driver works.
    static bool lock();
    static void unlock();

  private:
    static constexpr int locked = -1;  // the driver works, and entry points wait
    static CUresult await();
    static std::atomic<int> value;
};

}  // namespace cupola::cpu
