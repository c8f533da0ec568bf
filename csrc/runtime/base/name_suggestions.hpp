// csrc/runtime/base/name_suggestions.hpp - suggests names similar to one that was not found.
#pragma once

#include <string>
#include <vector>

namespace cupola {

// The text of the error: similar names, most similar first; all names where the image has few.
std::string not_found(const std::string& name, const std::vector<std::string>& names);

}  // namespace cupola
