// csrc/runtime/array/array_kernels.hpp - array kernels, each loaded at its first launch.
#pragma once

#include <string>

#include "runtime/launch/may_wait.hpp"

namespace cupola {

// The kernel of csrc/kernels/array of that name. It is never unloaded. It takes one struct of
// `parameter_bytes`.
Kernel& array_kernel(Context& context, const std::string& name, std::size_t parameter_bytes);

}  // namespace cupola
