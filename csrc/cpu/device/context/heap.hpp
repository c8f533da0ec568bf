// csrc/cpu/device/context/heap.hpp - the heap of a context for malloc in device code. It has a
// fixed size and is created at its first use.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class Context;
class Device;

class Heap final : public DeviceHeap {
  public:
    // The most bytes of a kernel's arguments.
    static constexpr std::size_t max_arguments = 32764;

    Heap(const Context& context, Device& device) : context_(context), device_(device) {}

    std::uintptr_t allocate(std::uint64_t bytes) override;
    bool release(std::uintptr_t address) override;
    // The size in bytes of a heap that does not exist yet.
    void set_limit(std::size_t bytes) { limit_.store(bytes); }
    // Whether the heap exists, so its size cannot change.
    bool made();
    // Called when the context's memory is freed.
    void reset();

  private:
    bool make();

    const Context& context_;
    Device& device_;
    std::atomic<std::size_t> limit_{0};
    std::mutex mutex_;
    bool made_ = false;
    std::map<std::uintptr_t, std::uint64_t> used_, free_;  // by address; values in bytes
};

}  // namespace cupola::cpu
