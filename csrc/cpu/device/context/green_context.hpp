// csrc/cpu/device/context/green_context.hpp - a green context: a partition of a device's
// multiprocessors. It has no effect on execution: work of its streams runs on all workers.
#pragma once

#include <atomic>
#include <memory>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/registry.hpp"

namespace cupola::cpu {

class Context;
struct ContextView;
class Device;

// The private part of a CUdevResource.
struct SmResource {
    unsigned count;
    bool whole;  // the resource of a device or context; only this can be split

    static SmResource of(const Device& device);
    // Reads a resource of the program. Throws INVALID_RESOURCE_TYPE if it is not one, and
    // INVALID_RESOURCE_CONFIGURATION if this driver did not create it.
    static SmResource read(const CUdevResource& from, const Device& device);
    static bool made(const CUdevResource& it, const Device& device);
    CUdevResource written(const Device& device) const;
    static unsigned unit(const Device& device);
};

class GreenContext {
  public:
    // `context` is the device's primary context, which the caller has retained.
    GreenContext(Device& device, std::shared_ptr<Context> context, unsigned multiprocessors);
    ~GreenContext();
    GreenContext(const GreenContext&) = delete;
    GreenContext& operator=(const GreenContext&) = delete;

    CUgreenCtx handle() const {
        return reinterpret_cast<CUgreenCtx>(const_cast<GreenContext*>(this));
    }
    Device& device() const { return device_; }
    const std::shared_ptr<Context>& context() const { return context_; }
    // The context's handle for this green context: one handle while the green context lives.
    CUcontext context_handle() const;
    unsigned multiprocessors() const { return multiprocessors_; }
    std::uint64_t id() const { return id_; }
    bool alive() const { return alive_; }
    void close();

  private:
    Device& device_;
    const std::shared_ptr<Context> context_;  // the retained primary context
    const std::shared_ptr<ContextView> view_;
    const unsigned multiprocessors_;
    const std::uint64_t id_;
    std::atomic<bool> alive_{true};
};

}  // namespace cupola::cpu
