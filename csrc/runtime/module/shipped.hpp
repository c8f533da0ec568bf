// csrc/runtime/module/shipped.hpp - the kernels that come with the library.
#pragma once

#include <string_view>

#include "runtime/module/kernel.hpp"

namespace cupola {

// The fatbin in this library.
std::string_view shipped_image();
// Loaded once a device.
Ref<Module> shipped_module(Context& context);
Kernel& shipped_kernel(Context& context, const std::string& name);

}  // namespace cupola
