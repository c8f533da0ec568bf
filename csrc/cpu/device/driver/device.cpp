// csrc/cpu/device/driver/device.cpp - the primary context and the pools of a device.
#include "cpu/device/driver/device.hpp"

#include <utility>

namespace cupola::cpu {

Device::Device(Driver& driver, int ordinal, const Settings& settings)
    : DeviceProperties(ordinal, settings), driver_(driver), budget_(memory()) {}

void Device::start(std::shared_ptr<PrimaryContext> primary, std::shared_ptr<Pool> pool) {
    primary_ = std::move(primary);
    default_pool_ = pool_ = std::move(pool);
}

std::shared_ptr<Pool> Device::pool() {
    std::lock_guard lock(pool_mutex_);
    return pool_;
}

void Device::set_pool(std::shared_ptr<Pool> pool) {
    std::lock_guard lock(pool_mutex_);
    pool_ = std::move(pool);
}

}  // namespace cupola::cpu
