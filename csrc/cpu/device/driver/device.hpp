// csrc/cpu/device/driver/device.hpp - a CPU device: its properties, budget, primary context and
// pool.
#pragma once

#include <memory>
#include <mutex>

#include "cpu/device/driver/device_properties.hpp"
#include "cpu/device/memory/memory.hpp"

namespace cupola::cpu {

class Driver;
class Pool;
class PrimaryContext;

class Device : public DeviceProperties {
  public:
    Device(Driver& driver, int ordinal, const Settings& settings);
    // Called once, by cuInit: the primary context and the pool are registered in the driver.
    void start(std::shared_ptr<PrimaryContext> primary, std::shared_ptr<Pool> pool);

    Driver& driver() const { return driver_; }
    Budget& budget() { return budget_; }
    PrimaryContext& primary() const { return *primary_; }

    std::shared_ptr<Pool> default_pool() const { return default_pool_; }
    std::shared_ptr<Pool> pool();
    void set_pool(std::shared_ptr<Pool> pool);

  private:
    Driver& driver_;
    Budget budget_;

    std::shared_ptr<PrimaryContext> primary_;

    std::mutex pool_mutex_;
    std::shared_ptr<Pool> default_pool_, pool_;
};

}  // namespace cupola::cpu
