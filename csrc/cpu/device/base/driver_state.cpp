// csrc/cpu/device/base/driver_state.cpp - stores the state of the driver.
#include "cpu/device/base/driver_state.hpp"

#include <condition_variable>
#include <mutex>

namespace cupola::cpu {

std::atomic<int> DriverState::value{CUDA_ERROR_NOT_INITIALIZED};

namespace {

// Never destroyed, because threads may still wait at process exit.
struct Waiting {
    std::mutex mutex;
    std::condition_variable ended;
};

Waiting& waiting() {
    static auto* const made = new Waiting;
    return *made;
}

}  // namespace

bool DriverState::end() {
    unlock();
    int running = CUDA_SUCCESS;
    return value.compare_exchange_strong(running, CUDA_ERROR_DEINITIALIZED);
}

bool DriverState::lock() {
    int running = CUDA_SUCCESS;
    return value.compare_exchange_strong(running, locked);
}

void DriverState::unlock() {
    std::lock_guard lock(waiting().mutex);
    int held = locked;
    if (value.compare_exchange_strong(held, CUDA_SUCCESS)) waiting().ended.notify_all();
}

CUresult DriverState::await() {
    std::unique_lock lock(waiting().mutex);
    waiting().ended.wait(lock, [] { return value.load(std::memory_order_acquire) != locked; });
    return get();
}

}  // namespace cupola::cpu
