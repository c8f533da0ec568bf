// csrc/runtime/context/device.hpp - devices by their ordinals, with their contexts.
#pragma once

#include "runtime/context/stream.hpp"

namespace cupola {

int device_count();
// Opens the context at the first call. Throws CUPOLA_ERROR_NOT_FOUND.
Context& context(int ordinal);
int current_device();

// The given stream; for null, the current stream of the current device.
Stream& stream_of(cupola_stream* stream);

}  // namespace cupola
