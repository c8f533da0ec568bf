// csrc/cpu/driver_state.hpp - whether the driver of the process works.
#pragma once

#include <atomic>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class DriverState {
  public:
    // SUCCESS while the driver works; NOT_INITIALIZED before cuInit and in a forked child;
    // DEINITIALIZED at process exit.
    static CUresult get() { return static_cast<CUresult>(value.load(std::memory_order_acquire)); }
    static void set(CUresult state) { value.store(state, std::memory_order_release); }
    // Changes the state from SUCCESS to DEINITIALIZED. False if it was another one.
    static bool end();

  private:
    static std::atomic<int> value;
};

}  // namespace cupola::cpu
