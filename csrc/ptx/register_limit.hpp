// csrc/ptx/register_limit.hpp - applies a register limit (nvcc -maxrregcount) to a PTX text.
#pragma once

#include <string>
#include <string_view>

namespace cupola::ptx {

// Adds `.maxnreg` to each kernel that has none. Line numbers do not change. Throws Error if the
// text cannot be split into tokens.
std::string limit_registers(std::string_view source, unsigned registers);

}  // namespace cupola::ptx
