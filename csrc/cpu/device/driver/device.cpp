// csrc/cpu/device/driver/device.cpp - the identity of a CPU device, and its current pool.
#include "cpu/device/driver/device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace cupola::cpu {
namespace {

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, 10, "model name") != 0) continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
#if defined(__aarch64__)
    return "aarch64";
#else
    return "unknown processor";
#endif
}

}  // namespace

Device::Device(int ordinal, const Settings& settings)
    : ordinal_(ordinal),
      name_("cupola CPU device (" + processor() + ")"),
      capability_(Capability::of(settings.capability)),
      multiprocessors_(settings.threads),
      budget_(settings.memory / static_cast<unsigned>(settings.devices)) {}

void Device::start(std::shared_ptr<PrimaryContext> primary, std::shared_ptr<Pool> pool) {
    primary_ = std::move(primary);
    default_pool_ = pool_ = std::move(pool);
}

// Equal in every process, like a GPU's: tools compare it between processes.
CUuuid Device::uuid() const {
    CUuuid uuid;
    std::memcpy(uuid.bytes, "cupola\0cpudevice", sizeof uuid.bytes);
    uuid.bytes[6] = static_cast<char>(ordinal_);
    return uuid;
}

// No hardware has domain ffff.
std::string Device::pci_bus_id() const {
    char text[16];
    std::snprintf(text, sizeof text, "FFFF:%02X:00.0", static_cast<unsigned>(ordinal_) & 0xff);
    return text;
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
