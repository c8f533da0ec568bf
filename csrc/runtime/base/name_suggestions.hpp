// csrc/runtime/base/name_suggestions.hpp - suggests names similar to one that was not found.
#pragma once

#include <string>
#include <vector>

namespace cupola {

// The texts of errors: similar names, most similar first; all names where the image has few.
// Kernels have their C++ names in the text, variables those of the image.
std::string kernel_not_found(const std::string& name, const std::vector<std::string>& symbols);
std::string variable_not_found(const std::string& name, const std::vector<std::string>& symbols);

}  // namespace cupola
