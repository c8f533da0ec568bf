// csrc/runtime/base/name_suggestions.hpp - demangles and shortens kernel names, suggests similar
// ones.
#pragma once

#include <string>
#include <vector>

namespace cupola {

std::string demangle(const std::string& name);

// Of "void ns::axpy<float>(float, float*)", base_name is "axpy" and title "ns::axpy<float>".
std::string base_name(const std::string& demangled);
std::string qualified_name(const std::string& demangled);
// The title of a symbol, for messages; the symbol itself where it is not mangled.
std::string title(const std::string& symbol);

// The text of the error: similar names, most similar first; all names where there are few.
std::string not_found(const std::string& name, const std::vector<std::string>& names);

}  // namespace cupola
