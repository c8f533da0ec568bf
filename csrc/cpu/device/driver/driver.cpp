// csrc/cpu/device/driver/driver.cpp - the devices, their budgets and the last fault.
#include "cpu/device/driver/driver.hpp"

#include <mutex>
#include <utility>

namespace cupola::cpu {

std::atomic<Driver*> Driver::instance{nullptr};

Driver::Driver(const Settings& read)
    : settings(read),
      host_memory(read.memory),
      scheduler(read.checks.watching() ? 1 : read.threads, read.timeout, memory),
      executors(read.threads) {
    for (int ordinal = 0; ordinal < settings.devices; ++ordinal)
        devices.push_back(std::make_unique<Device>(*this, ordinal, settings));
}

Device& Driver::device(CUdevice ordinal) {
    require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(),
            CUDA_ERROR_INVALID_DEVICE);
    return *devices[static_cast<std::size_t>(ordinal)];
}

Budget& Driver::budget(const Allocation& allocation) {
    return allocation.on_host() ? host_memory : device(allocation.device).budget();
}

std::string Driver::last_fault() const {
    std::lock_guard lock(fault_mutex_);
    return fault_;
}

std::string Driver::last_assertion() const {
    std::lock_guard lock(fault_mutex_);
    return assertion_;
}

void Driver::set_last_fault(std::string text, std::string assertion) {
    std::lock_guard lock(fault_mutex_);
    fault_ = std::move(text);
    assertion_ = std::move(assertion);
}

}  // namespace cupola::cpu
