// csrc/cpu/device/lifecycle/primary_context.cpp - retains, releases and resets a primary context.
#include "cpu/device/lifecycle/primary_context.hpp"

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/lifecycle/context_lifecycle.hpp"

namespace cupola::cpu {

PrimaryContext::PrimaryContext(Device& device)
    : context_(std::make_shared<Context>(device, 0u, true)) {
    device.driver().contexts.add(context_);
}

std::shared_ptr<Context> PrimaryContext::retain() {
    std::lock_guard lock(mutex_);
    if (count_ == 0 && !context_->alive()) open_context(*context_, flags_);
    ++count_;
    return context_;
}

void PrimaryContext::release() {
    std::lock_guard lock(mutex_);
    require(count_ > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--count_ == 0) close_context(*context_);
}

// The retain count stays: each retain still needs its release. As in NVIDIA's driver, a retained
// context opens again.
void PrimaryContext::reset() {
    std::lock_guard lock(mutex_);
    if (!context_->alive()) return;
    close_context(*context_);
    if (count_ > 0) open_context(*context_, flags_);
}

void PrimaryContext::set_flags(unsigned flags) {
    std::lock_guard lock(mutex_);
    flags_ = flags;
    if (context_->alive()) context_->flags = flags;
}

void PrimaryContext::state(unsigned* flags, int* active) {
    std::lock_guard lock(mutex_);
    if (flags) *flags = flags_;
    if (active) *active = context_->alive();
}

}  // namespace cupola::cpu
