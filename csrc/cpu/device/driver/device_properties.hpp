// csrc/cpu/device/driver/device_properties.hpp - the properties of a CPU device, which follow from
// the settings: they are known before cuInit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cpu/base/capability.hpp"
#include "cpu/base/settings.hpp"
#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class DeviceProperties {
  public:
    DeviceProperties(int ordinal, const Settings& settings);

    int ordinal() const { return ordinal_; }
    const std::string& name() const { return name_; }
    const Capability& capability() const { return capability_; }
    int multiprocessors() const { return multiprocessors_; }
    std::size_t memory() const { return memory_; }  // bytes
    CUuuid uuid() const;
    std::string pci_bus_id() const;
    // Nothing for an attribute that cuda.h of this build does not have.
    std::optional<int> attribute(CUdevice_attribute attribute) const;

  private:
    const int ordinal_;
    const std::string name_;
    const Capability& capability_;
    const int multiprocessors_;
    const std::size_t memory_;
    const bool integrated_;
};

}  // namespace cupola::cpu
