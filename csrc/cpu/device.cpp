// csrc/cpu/device.cpp - the identity of a CPU device, and its primary context.
#include "cpu/device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/pool.hpp"

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

void Device::start() {
    primary_ = std::make_shared<Context>(*this, 0u, true);
    Driver::get().contexts.add(primary_);
    PoolPlace place;
    place.location.id = ordinal_;
    default_pool_ = pool_ = Pool::make(place, 0, true);
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

std::shared_ptr<Context> Device::retain_primary() {
    std::lock_guard lock(primary_mutex_);
    if (primary_count_ == 0 && !primary_->alive()) primary_->open(primary_flags_);
    ++primary_count_;
    return primary_;
}

void Device::release_primary() {
    std::lock_guard lock(primary_mutex_);
    require(primary_count_ > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--primary_count_ == 0) primary_->close();
}

// The retain count stays: each retain still needs its release. As in NVIDIA's driver, a retained
// context opens again.
void Device::reset_primary() {
    std::lock_guard lock(primary_mutex_);
    if (!primary_->alive()) return;
    primary_->close();
    if (primary_count_ > 0) primary_->open(primary_flags_);
}

void Device::set_primary_flags(unsigned flags) {
    std::lock_guard lock(primary_mutex_);
    primary_flags_ = flags;
    if (primary_->alive()) primary_->flags = flags;
}

void Device::primary_state(unsigned* flags, int* active) {
    std::lock_guard lock(primary_mutex_);
    if (flags) *flags = primary_flags_;
    if (active) *active = primary_->alive();
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
