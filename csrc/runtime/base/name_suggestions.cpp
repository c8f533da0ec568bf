// csrc/runtime/base/name_suggestions.cpp - suggests names similar to one that was not found.
#include "runtime/base/name_suggestions.hpp"

#include <algorithm>

#include "platform/demangle.hpp"

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

std::string not_found(const std::string& name, const std::vector<std::string>& names) {
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const std::string& symbol : names)
        ranked.emplace_back(
            std::min(distance(name, symbol), distance(name, base_name(demangle(symbol)))),
            title(symbol));
    std::sort(ranked.begin(), ranked.end());
    ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());  // overloads
    std::string text = "the module has no kernel " + (name.empty() ? "with an empty name" : name);
    if (ranked.empty())
        return text +
               ": it has no kernels at all; a template becomes one by an instantiation in "
               "the source, or by name_expressions= of cupola.compile";
    constexpr std::size_t most = 8;
    text += ranked.size() <= most ? "; it has: " : "; the nearest names are: ";
    for (std::size_t i = 0; i < ranked.size() && i < most; ++i)
        text += (i ? ", " : "") + ranked[i].second;
    return text;
}

}  // namespace cupola
