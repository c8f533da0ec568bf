// csrc/cpu/device/lifecycle/primary_context.hpp - the primary context of a device: it is open while
// the program retains it.
#pragma once

#include <memory>
#include <mutex>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Context;
class Device;

class PrimaryContext {
  public:
    // Creates and registers a closed context.
    explicit PrimaryContext(Device& device);

    std::shared_ptr<Context> retain();
    void release();
    void reset();
    void set_flags(unsigned flags);
    void state(unsigned* flags, int* active);

  private:
    std::mutex mutex_;
    const std::shared_ptr<Context> context_;
    unsigned flags_ = 0;
    int count_ = 0;
};

}  // namespace cupola::cpu
