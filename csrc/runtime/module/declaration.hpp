// csrc/runtime/module/declaration.hpp - a kernel's parameters as a user declares them.
#pragma once

#include "cupola/kernel.h"
#include "runtime/module/parameter.hpp"

namespace cupola {

struct Declared {
    Parameter parameter;      // without an offset; its size is 0 where the type does not tell it
    std::uint32_t align = 1;  // bytes, as far as the type tells
};

// From "float a, const float* x, size_t n". Says what is wrong, "" where nothing is.
std::string from_declaration(std::string_view text, std::vector<Declared>& found);

}  // namespace cupola
