// csrc/ptx/inlined_names.hpp - names of the functions that were inlined, as .loc directives give
// them: a label of a string, such as "$L__info_string3", or ".debug_str+12".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/line_table.hpp"

namespace cupola::ptx {

// The name of each scope of the table, which was read from the same text; "" where none is given.
std::vector<std::string> inlined_names(std::string_view text, const LineTable& table);

}  // namespace cupola::ptx
