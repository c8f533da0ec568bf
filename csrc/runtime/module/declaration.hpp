// csrc/runtime/module/declaration.hpp - parses the parameters that a user declares for a kernel.
#pragma once

#include "cupola/kernel.h"
#include "runtime/module/parameter.hpp"

namespace cupola {

struct Declared {
    Parameter parameter;      // without an offset; its size is 0 where the type does not imply it
    std::uint32_t align = 1;  // bytes, where the type implies it
};

// Parses "float a, const float* x, size_t n". Returns an error text, or "".
std::string from_declaration(std::string_view text, std::vector<Declared>& found);

}  // namespace cupola
