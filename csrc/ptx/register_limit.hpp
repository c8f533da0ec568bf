// csrc/ptx/register_limit.hpp - a compiler's option that limits registers, as directives of a text.
#pragma once

#include <string>
#include <string_view>

namespace cupola::ptx {

// Gives each kernel `.maxnreg` that has none. Lines keep their numbers. Throws Error where the text
// has no tokens.
std::string limit_registers(std::string_view source, unsigned registers);

}  // namespace cupola::ptx
