// csrc/runtime/operation/host_scope.hpp - host memory that kernels of the CPU device use for a
// while.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/memory/memory.hpp"

namespace cupola {

struct HostRange {
    std::uint64_t begin, end;
    bool written;
};

// Registers ranges of host memory with the driver for a scope. Ranges may overlap; memory that the
// driver knows stays as it is. One scope exists at a time: calls of several threads may use parts
// of the same memory, which the driver can't register twice.
class HostScope {
  public:
    HostScope(Context& context, HostRange* ranges, std::size_t count);

  private:
    std::unique_lock<std::mutex> lock_;  // released last
    std::vector<Ref<Memory>> registered_;
};

}  // namespace cupola
