// csrc/runtime/module/link.hpp - links several images to one, with the driver's linker.
#pragma once

#include <functional>

#include "cupola/module.h"
#include "runtime/context/context.hpp"

namespace cupola {

// Calls `take` with the linked image, which is valid during the call.
void link(Context& context, const cupola_link_input* inputs, std::size_t count,
          const std::function<void(const void* image, std::size_t size)>& take);

}  // namespace cupola
