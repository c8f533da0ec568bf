// csrc/runtime/memory/managed.hpp - managed memory: one address for host and devices.
#pragma once

#include "runtime/context/device.hpp"
#include "runtime/memory/memory.hpp"

namespace cupola {

Ref<Memory> allocate_managed(Context& context, std::size_t size);
// Queues a move of managed memory to a device; -1 is the host.
void prefetch(std::uint64_t address, std::size_t size, int device, Stream& stream);
// Gives or withdraws advice; `advice` is CUPOLA_ADVISE_*, device -1 is the host.
void advise(std::uint64_t address, std::size_t size, int advice, bool give, int device);

}  // namespace cupola
