// csrc/runtime/base/name_suggestions.cpp - suggests names similar to one that was not found.
#include "runtime/base/name_suggestions.hpp"

#include <algorithm>

#include "platform/demangle.hpp"

namespace cupola {
namespace {

struct Name {
    std::string exact, base;  // compared with the name that was not found
    std::string shown;
};

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

// Similar names, most similar first; all names where the image has few.
std::string similar(const std::string& name, const std::vector<Name>& names) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const Name& one : names)
        ranked.emplace_back(std::min(distance(name, one.exact), distance(name, one.base)),
                            one.shown);
    std::sort(ranked.begin(), ranked.end());
    ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());  // overloads
    if (ranked.empty()) return "";
    constexpr std::size_t most = 8;
    std::string text = ranked.size() <= most ? "; it has: " : "; the nearest names are: ";
    for (std::size_t i = 0; i < ranked.size() && i < most; ++i)
        text += (i ? ", " : "") + ranked[i].second;
    return text;
}

std::string spelled(const std::string& name) { return name.empty() ? "with an empty name" : name; }

}  // namespace

std::string kernel_not_found(const std::string& name, const std::vector<std::string>& symbols) {
    std::vector<Name> names;
    for (const std::string& symbol : symbols)
        names.push_back({symbol, base_name(demangle(symbol)), title(symbol)});
    const std::string text = "the module has no kernel " + spelled(name);
    if (names.empty())
        return text +
               ": it has no kernels at all; a template becomes one by an instantiation in "
               "the source, or by name_expressions= of cupola.compile";
    return text + similar(name, names);
}

std::string variable_not_found(const std::string& name, const std::vector<std::string>& symbols) {
    std::vector<Name> names;
    for (const std::string& symbol : symbols)
        names.push_back({symbol, base_name(demangle(symbol)), symbol});
    const bool mangled = std::any_of(symbols.begin(), symbols.end(), [](const std::string& symbol) {
        return symbol.compare(0, 2, "_Z") == 0;
    });
    return "the module has no variable " + spelled(name) + similar(name, names) +
           (mangled || names.empty() ? " (a C++ name in a namespace is mangled)" : "");
}

}  // namespace cupola
