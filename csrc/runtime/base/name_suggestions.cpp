// csrc/runtime/base/name_suggestions.cpp - demangles names and suggests similar ones.
#include "runtime/base/name_suggestions.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace cupola {
namespace {

std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t substitute = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[b.size()];
}

}  // namespace

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

std::string not_found(const std::string& name, const std::vector<std::string>& names) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const std::string& symbol : names)
        ranked.emplace_back(
            std::min(distance(name, symbol), distance(name, base_name(demangle(symbol)))),
            title(symbol));
    std::sort(ranked.begin(), ranked.end());
    ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());  // overloads
    std::string text = "the module has no kernel " + (name.empty() ? "with an empty name" : name);
    if (ranked.empty()) return text + ": it has no kernels at all";
    constexpr std::size_t most = 8;
    text += ranked.size() <= most ? "; it has: " : "; the nearest names are: ";
    for (std::size_t i = 0; i < ranked.size() && i < most; ++i)
        text += (i ? ", " : "") + ranked[i].second;
    return text;
}

}  // namespace cupola
