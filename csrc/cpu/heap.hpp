// csrc/cpu/heap.hpp - the heap of a context for malloc in device code. It has a fixed size and is
// created at its first use.
#pragma once

#include <map>
#include <mutex>

#include "cpu/execute.hpp"

namespace cupola::cpu {

class Context;

class Heap final : public DeviceHeap {
  public:
    explicit Heap(Context& context) : context_(context) {}

    std::uintptr_t allocate(std::uint64_t bytes) override;
    bool release(std::uintptr_t address) override;
    // Whether the heap exists, so its size cannot change.
    bool made();
    // Called when the context's memory is freed.
    void reset();

  private:
    bool make();

    Context& context_;
    std::mutex mutex_;
    bool made_ = false;
    std::map<std::uintptr_t, std::uint64_t> used_, free_;  // by address; values in bytes
};

}  // namespace cupola::cpu
