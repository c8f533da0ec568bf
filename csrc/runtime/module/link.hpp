// csrc/runtime/module/link.hpp - several images to one, by the driver's own linker.
#pragma once

#include <functional>

#include "cupola/module.h"
#include "runtime/context/context.hpp"

namespace cupola {

// Gives the image to `take`; it lives as long as that call.
void link(Context& context, const cupola_link_input* inputs, std::size_t count,
          const std::function<void(const void* image, std::size_t size)>& take);

}  // namespace cupola
