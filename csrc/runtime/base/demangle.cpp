// csrc/runtime/base/demangle.cpp - demangles C++ names and shortens them.
#include "runtime/base/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>

namespace cupola {

std::string demangle(const std::string& name) {
    if (name.compare(0, 2, "_Z") != 0) return name;  // a bare "f" would demangle to float
    int status = 0;
    char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 && text ? text : name;
    std::free(text);
    return result;
}

std::string qualified_name(const std::string& demangled) {
    // The name up to the parameter list, without the return type that templates have.
    int depth = 0;
    std::size_t begin = 0, end = demangled.size();
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        char c = demangled[i];
        if (c == '<') ++depth;
        if (c == '>') --depth;
        if (depth == 0 && c == ' ') begin = i + 1;
        if (depth == 0 && c == '(' && demangled.compare(i, 11, "(anonymous ") != 0) {
            end = i;
            break;
        }
        if (depth == 0 && c == '(') i = demangled.find(')', i);  // "(anonymous namespace)"
        if (i == std::string::npos) break;
    }
    return demangled.substr(begin, end - begin);
}

std::string base_name(const std::string& demangled) {
    std::string name = qualified_name(demangled);
    name = name.substr(0, name.find('<'));
    std::size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
}

std::string title(const std::string& symbol) {
    const std::string demangled = demangle(symbol);
    const std::string name = demangled == symbol ? symbol : qualified_name(demangled);
    return name.empty() ? demangled : name;
}

}  // namespace cupola
