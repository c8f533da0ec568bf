// csrc/runtime/base/demangle.hpp - demangles C++ names and shortens them.
#pragma once

#include <string>

namespace cupola {

// The name itself where it is not mangled.
std::string demangle(const std::string& name);

// Of "void ns::axpy<float>(float, float*)", base_name is "axpy" and qualified_name
// "ns::axpy<float>".
std::string base_name(const std::string& demangled);
std::string qualified_name(const std::string& demangled);
// The qualified name of a symbol, for messages; the symbol itself where it is not mangled.
std::string title(const std::string& symbol);

}  // namespace cupola
