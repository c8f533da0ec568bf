// csrc/runtime/module/shipped.hpp - the library's shipped kernels.
#pragma once

#include <string_view>

#include "runtime/module/kernel.hpp"

namespace cupola {

// The fatbin in this library.
std::string_view shipped_image();
// Loaded once for each device.
Ref<Module> shipped_module(Context& context);
Kernel& shipped_kernel(Context& context, const std::string& name);

}  // namespace cupola
