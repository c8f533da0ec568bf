// csrc/runtime/operation/stream_handles.hpp - streams of other libraries, by their handles.
#pragma once

#include "runtime/context/stream.hpp"

namespace cupola {

// The object for another library's CUstream: the same at each call, while it is among the last
// used.
Stream& stream_of_handle(Context& context, CUstream handle);

}  // namespace cupola
