// csrc/ptx/inlined_names.cpp - reads `function_name` in .loc directives.
#include "ptx/inlined_names.hpp"

#include <algorithm>

namespace cupola::ptx {

std::vector<std::string> inlined_names(std::string_view text, const LineTable& table) {
    constexpr std::string_view word = "function_name", directive = ".loc", spaces = " \t\r";
    std::vector<std::string> names(table.scopes().size());
    for (std::uint32_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
        if (line.substr(0, directive.size()) != directive) continue;
        const std::size_t at = line.find(word);
        const LineTable::Place* const place = table.at(number);
        if (at == std::string_view::npos || !place || place->ptx_line != number) continue;
        line.remove_prefix(at + word.size());
        line.remove_prefix(std::min(line.find_first_not_of(spaces), line.size()));
        names[place->scope] = line.substr(0, std::min(line.find_first_of(" \t\r,"), line.size()));
    }
    return names;
}

}  // namespace cupola::ptx
