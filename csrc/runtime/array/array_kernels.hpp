// csrc/runtime/array/array_kernels.hpp - the kernels of arrays, each loaded when it is first
// launched.
#pragma once

#include <string>

#include "runtime/launch/may_wait.hpp"

namespace cupola {

// The kernel of csrc/kernels/array of that name; held for good. It takes one struct of
// `parameter_bytes`.
Kernel& array_kernel(Context& context, const std::string& name, std::size_t parameter_bytes);

}  // namespace cupola
