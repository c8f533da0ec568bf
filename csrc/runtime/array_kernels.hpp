// csrc/runtime/array_kernels.hpp - the kernels of arrays, each loaded when it is first launched.
#pragma once

#include <string>

#include "runtime/callback.hpp"
#include "runtime/kernel.hpp"
#include "runtime/stream.hpp"

namespace cupola {

// The kernel of csrc/kernels/array of that name; held for good. It takes one struct of
// `parameter_bytes`.
Kernel& array_kernel(Context& context, const std::string& name, std::size_t parameter_bytes);

// Whether the launch may have to wait for something: see cupola_launch_at_once().
inline bool launch_may_wait(const Kernel& kernel, Stream& stream) {
    return !kernel.launched() || driver().synchronous || Flight::is_traced() ||
           Callback::pending.load(std::memory_order_relaxed) || !stream.flight.has_room();
}

}  // namespace cupola
