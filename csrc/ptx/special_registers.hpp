// csrc/ptx/special_registers.hpp - the names of special registers.
#pragma once

#include <string_view>

#include "ptx/program.hpp"

namespace cupola::ptx {

// Resolves a special register such as %laneid; Special::count for another name.
Special special_register(std::string_view name);
// Resolves a whole special vector such as %tid; false for another name.
bool special_vector(Function& f, std::string_view name, Operand& o);
// Resolves an element of a special vector, such as %tid.r; false for another name.
bool special_element(std::string_view vector, unsigned element, Operand& o);

}  // namespace cupola::ptx
