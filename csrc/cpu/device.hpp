// csrc/cpu/device.hpp - a CPU device: its name, attributes, memory and primary context.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cpu/capability.hpp"
#include "cpu/cuda.hpp"
#include "cpu/memory.hpp"
#include "cpu/settings.hpp"

namespace cupola::cpu {

class Context;
class Pool;

class Device {
  public:
    Device(int ordinal, const Settings& settings);
    // Creates the default pool, which needs the driver.
    void start();

    int ordinal() const { return ordinal_; }
    const std::string& name() const { return name_; }
    const Capability& capability() const { return capability_; }
    int multiprocessors() const { return multiprocessors_; }
    CUuuid uuid() const;
    std::string pci_bus_id() const;
    Budget& budget() { return budget_; }
    // Nothing for an attribute that cuda.h of this build does not have.
    std::optional<int> attribute(CUdevice_attribute attribute) const;

    Context& primary() { return *primary_; }
    const std::shared_ptr<Context>& primary_pointer() const { return primary_; }
    std::shared_ptr<Context> retain_primary();
    void release_primary();
    void reset_primary();
    void set_primary_flags(unsigned flags);
    void primary_state(unsigned* flags, int* active);

    std::shared_ptr<Pool> default_pool() const { return default_pool_; }
    std::shared_ptr<Pool> pool();
    void set_pool(std::shared_ptr<Pool> pool);

  private:
    const int ordinal_;
    std::string name_;
    const Capability& capability_;
    const int multiprocessors_;
    Budget budget_;

    std::mutex primary_mutex_;
    std::shared_ptr<Context> primary_;
    unsigned primary_flags_ = 0;
    int primary_count_ = 0;

    std::mutex pool_mutex_;
    std::shared_ptr<Pool> default_pool_, pool_;
};

}  // namespace cupola::cpu
