// csrc/cpu/heap.hpp - the heap of a context from which device code's malloc takes: of fixed size,
// made when it is first used.
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
    // Its size is settled.
    bool made();
    // The context's memory is gone, and this with it.
    void reset();

  private:
    bool make();

    Context& context_;
    std::mutex mutex_;
    bool made_ = false;
    std::map<std::uintptr_t, std::uint64_t> used_, free_;  // begin, bytes
};

}  // namespace cupola::cpu
