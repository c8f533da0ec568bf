// csrc/runtime/copy/copy.hpp - queues linear copies and fills; the stream's context is current.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupola/copy.h"
#include "runtime/context/stream.hpp"
#include "runtime/profile/profile.hpp"

namespace cupola {

// `direction` is CUPOLA_TO_DEVICE, _TO_HOST or _ON_DEVICE.
void copy_linear(std::uint64_t to, std::uint64_t from, std::size_t bytes, int direction,
                 Stream& stream);
void fill_linear(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                 Stream& stream);

// Copies from one device's memory to another's. The copy waits for the other device's current
// stream, and later work of that stream waits for the copy.
void copy_between(std::uint64_t to, int to_device, std::uint64_t from, int from_device,
                  std::size_t bytes, Stream& stream);
// Logs a copy. `how` adds details, such as the rows.
void log_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, int direction,
              const Stream& stream, const std::string& how = {});

// A profile's span for the copy that is queued while the span lives.
Span span_of_copy(int direction, std::size_t bytes, const Stream& stream);

}  // namespace cupola
