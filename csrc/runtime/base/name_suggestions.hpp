// csrc/runtime/base/name_suggestions.hpp - names of kernels: demangled, shortened, and the nearest
// to a wrong one.
#pragma once

#include <string>
#include <vector>

namespace cupola {

std::string demangle(const std::string& name);

// Of "void ns::axpy<float>(float, float*)": "axpy", and "ns::axpy<float>".
std::string base_name(const std::string& demangled);
std::string qualified_name(const std::string& demangled);
// The latter for a symbol, for messages; the symbol itself where C++ did not mangle it.
std::string title(const std::string& symbol);

// The error's text: the nearest names first, all where they are few.
std::string not_found(const std::string& name, const std::vector<std::string>& names);

}  // namespace cupola
