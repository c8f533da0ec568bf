// csrc/cpu/driver_state.cpp - stores the state of the driver.
#include "cpu/driver_state.hpp"

namespace cupola::cpu {

std::atomic<int> DriverState::value{CUDA_ERROR_NOT_INITIALIZED};

bool DriverState::end() {
    int running = CUDA_SUCCESS;
    return value.compare_exchange_strong(running, CUDA_ERROR_DEINITIALIZED);
}

}  // namespace cupola::cpu
