// csrc/runtime/context/device.hpp - devices by their ordinals, with their contexts.
#pragma once

#include "cupola/memory.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// Ordinals from 0 are the main driver's devices, those from CUPOLA_CPU_DEVICE the CPU device's
// beside it. A context has one ordinal, which is what the functions here return.
int device_count();  // devices of the main driver
// Opens the context at the first call. Throws CUPOLA_ERROR_NOT_FOUND.
Context& context(int ordinal);
// The ordinal of the context to which the given ordinal leads. Opens no context.
int canonical_device(int ordinal);

// The current device of this thread: the device of the current context of one driver. That is the
// driver whose device was pushed last; without a push, the main driver.
int current_device();
void push_device(int ordinal);
void pop_device();

// The device whose kernels use host memory that no driver knows; -1 where a program has none. It is
// the current device if that was pushed and is of a CPU device, else the CPU device where
// CUPOLA_CPU_TENSORS=1, else the main driver's first device where that is a CPU device.
int host_device();

// The device of an address, -1 where the driver does not know it. One of the driver's contexts must
// be current.
int device_of_address(const Driver& driver, std::uint64_t address);
// The device of an address of any loaded driver. The first driver asked is that of `device`; -1 is
// the current device.
int device_of_address(std::uint64_t address, int device = -1);
cupola_address_info describe_address(std::uint64_t address);
bool is_exportable(std::uint64_t address);
struct AddressRange {
    std::uint64_t begin = 0;
    std::size_t size = 0;  // bytes
};
// The allocation around an address, by the driver of `device`; zeros where it knows none. Drivers
// round sizes up: cupola's own memory has the requested size.
AddressRange range_of_address(std::uint64_t address, int device);

// Whether a device can access the memory pool of another device, which cuCtxEnablePeerAccess does
// not cover.
void open_pool(const Context& peer, const Context& device, bool enable);

// The given stream; for null, the current stream of the current device.
Stream& stream_of(cupola_stream* stream);

}  // namespace cupola
