// csrc/cpu/device/driver/device.hpp - a CPU device: its name, attributes, memory, primary context
// and pool.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cpu/base/capability.hpp"
#include "cpu/base/settings.hpp"
#include "cpu/device/base/cuda.hpp"
#include "cpu/device/memory/memory.hpp"

namespace cupola::cpu {

class Pool;
class PrimaryContext;

class Device {
  public:
    Device(int ordinal, const Settings& settings);
    // Called once, by cuInit: both need the driver.
    void start(std::shared_ptr<PrimaryContext> primary, std::shared_ptr<Pool> pool);

    int ordinal() const { return ordinal_; }
    const std::string& name() const { return name_; }
    const Capability& capability() const { return capability_; }
    int multiprocessors() const { return multiprocessors_; }
    CUuuid uuid() const;
    std::string pci_bus_id() const;
    Budget& budget() { return budget_; }
    // Nothing for an attribute that cuda.h of this build does not have.
    std::optional<int> attribute(CUdevice_attribute attribute) const;

    PrimaryContext& primary() const { return *primary_; }

    std::shared_ptr<Pool> default_pool() const { return default_pool_; }
    std::shared_ptr<Pool> pool();
    void set_pool(std::shared_ptr<Pool> pool);

  private:
    const int ordinal_;
    std::string name_;
    const Capability& capability_;
    const int multiprocessors_;
    Budget budget_;

    std::shared_ptr<PrimaryContext> primary_;

    std::mutex pool_mutex_;
    std::shared_ptr<Pool> default_pool_, pool_;
};

}  // namespace cupola::cpu
