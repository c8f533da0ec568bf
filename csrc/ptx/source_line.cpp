// csrc/ptx/source_line.cpp - describes the place of a line of PTX in the source.
#include "ptx/source_line.hpp"

#include "ptx/line_table.hpp"

namespace cupola::ptx {

std::string source_line(std::string_view text, std::uint32_t line) {
    const LineTable table(text);
    const LineTable::Place* const place = table.at(line);
    if (!place) return {};
    const auto named = [&](std::uint32_t file, std::uint32_t number) {
        return table.files()[file] + ":" + std::to_string(number);
    };
    std::string found = named(place->file, place->line);
    if (place->scope != 0) {
        const LineTable::Scope& call = table.scopes()[place->scope];
        found += ", inlined at " + named(call.file, call.line);
    }
    return found;
}

}  // namespace cupola::ptx
