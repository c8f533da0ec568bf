// csrc/cpu/green_context.hpp - a green context: a part of a device's multiprocessors that a program
// asked for, as far as it can ask. Work of its streams runs wherever other work does.
#pragma once

#include <atomic>
#include <memory>

#include "cpu/cuda.hpp"
#include "cpu/registry.hpp"

namespace cupola::cpu {

class Context;
class Device;

// What a CUdevResource holds beside what cuda.h shows of it.
struct SmResource {
    unsigned count;
    bool whole;  // of a device or a context: only such a one can be split

    static SmResource of(const Device& device);
    // Of what a program gives: INVALID_RESOURCE_TYPE where it is none,
    // INVALID_RESOURCE_CONFIGURATION where this driver has not made it.
    static SmResource read(const CUdevResource& from, const Device& device);
    static bool made(const CUdevResource& it, const Device& device);
    CUdevResource written(const Device& device) const;
};

class GreenContext {
  public:
    GreenContext(Device& device, unsigned multiprocessors);
    ~GreenContext();
    GreenContext(const GreenContext&) = delete;
    GreenContext& operator=(const GreenContext&) = delete;

    static Registry<GreenContext>& all();

    CUgreenCtx handle() const {
        return reinterpret_cast<CUgreenCtx>(const_cast<GreenContext*>(this));
    }
    Device& device() const { return device_; }
    const std::shared_ptr<Context>& context() const { return context_; }
    unsigned multiprocessors() const { return multiprocessors_; }
    std::uint64_t id() const { return id_; }
    bool alive() const { return alive_; }
    void close() { alive_ = false; }

  private:
    Device& device_;
    const std::shared_ptr<Context> context_;  // the primary one, retained
    const unsigned multiprocessors_;
    const std::uint64_t id_;
    std::atomic<bool> alive_{true};
};

}  // namespace cupola::cpu
