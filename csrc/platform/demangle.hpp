// csrc/platform/demangle.hpp - demangles C++ names and shortens them.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <string>

namespace cupola {

// Demangles a name; a name that is not mangled stays as it is.
inline std::string demangle(const std::string& name) {
    if (name.compare(0, 2, "_Z") != 0) return name;  // a bare "f" would demangle to float
    int status = 0;
    char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 && text ? text : name;
    std::free(text);
    return result;
}

// "ns::axpy<float>" of "void ns::axpy<float>(float, float*)".
inline std::string qualified_name(const std::string& demangled) {
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

// Whether a scope around a name is reserved for compilers and libraries: "cuda::std::__4::x". nvcc
// puts the names of one file alone into the scope _INTERNAL_..., which is not meant.
inline bool is_in_reserved_scope(const std::string& demangled) {
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        if (c == '<' || c == '(') ++depth;
        if (c == '>' || c == ')') --depth;
        if (depth != 0 || demangled.compare(i, 2, "::") != 0) continue;
        const char second = i > begin + 1 && demangled[begin] == '_' ? demangled[begin + 1] : 'x';
        const bool reserved = second == '_' || (second >= 'A' && second <= 'Z');
        if (reserved && demangled.compare(begin, 10, "_INTERNAL_") != 0) return true;
        begin = i + 2;
    }
    return false;
}

// "axpy" of "void ns::axpy<float>(float, float*)".
inline std::string base_name(const std::string& demangled) {
    std::string name = qualified_name(demangled);
    name = name.substr(0, name.find('<'));
    std::size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
}

// The qualified name of a symbol, for messages; the symbol itself where it is not mangled.
inline std::string title(const std::string& symbol) {
    const std::string demangled = demangle(symbol);
    const std::string name = demangled == symbol ? symbol : qualified_name(demangled);
    return name.empty() ? demangled : name;
}

// A spelling that names are compared by: "step<16, 16>" and "step<16,16>" give the same text. The
// space between two words stays: "unsigned int".
inline std::string without_spaces(const std::string& name) {
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$';
    };
    std::string made;
    bool space = false;
    for (const char c : name) {
        if (c == ' ') {
            space = true;
            continue;
        }
        if (space && !made.empty() && is_word(made.back()) && is_word(c)) made += ' ';
        space = false;
        made += c;
    }
    return made;
}

}  // namespace cupola
