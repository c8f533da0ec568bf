// csrc/ptx/line_table.cpp - reads the .file and .loc directives of a text.
#include "ptx/line_table.hpp"

#include <algorithm>

namespace cupola::ptx {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::uint32_t no_file = 0xffffffffu;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Removes the first word and returns it.
std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    const std::size_t end = std::min(text.find_first_of(" \t\r,"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

bool take_number(std::string_view& text, std::uint32_t& out) {
    const std::string_view word = take_word(text);
    std::uint64_t value = 0;
    if (word.empty() || word.size() > 10) return false;
    for (const char c : word) {
        if (c < '0' || c > '9') return false;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    out = static_cast<std::uint32_t>(value);
    return value <= 0xfffffffeu;
}

// Calls f(line) for each line.
template <class F>
void each_line(std::string_view text, F f) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        f(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

// Whether a function begins on this line; a .loc before it does not apply to it.
bool begins_function(std::string_view line) {
    for (int words = 0; words < 3; ++words) {
        const std::string_view word = take_word(line);
        if (word == ".entry" || word == ".func") return true;
        if (word != ".visible" && word != ".weak" && word != ".extern") return false;
    }
    return false;
}

std::string key_of(const LineTable::Scope& s) {
    return std::to_string(s.parent) + " " + std::to_string(s.file) + " " + std::to_string(s.line) +
           " " + std::to_string(s.column);
}

}  // namespace

LineTable::LineTable(std::string_view text) {
    read_files(text);
    if (files_.empty()) return;
    std::uint32_t at = 0;
    each_line(text, [&](std::string_view line) {
        ++at;
        if (line.empty() || line[0] != '.') return;
        if (begins_function(line)) {
            if (!places_.empty()) places_.push_back({at, 0, no_file, 0, 0});
            last_.clear();
            known_.clear();
            return;
        }
        if (take_word(line) == ".loc") read_place(line, at);
    });
    last_.clear();
    known_.clear();
}

// Reads the .file directives, which compilers write behind the functions.
void LineTable::read_files(std::string_view text) {
    each_line(text, [&](std::string_view line) {
        std::uint32_t number = 0;
        if (line.empty() || line[0] != '.' || take_word(line) != ".file" ||
            !take_number(line, number))
            return;
        const std::size_t first = line.find('"'), last = line.rfind('"');
        if (first == std::string_view::npos || last <= first + 1) return;
        if (numbers_.emplace(number, static_cast<std::uint32_t>(files_.size())).second)
            files_.emplace_back(line.substr(first + 1, last - first - 1));
    });
}

// Reads "1 12 3": a file's number, the line and the column.
bool LineTable::read_numbers(std::string_view& rest, std::uint32_t (&numbers)[3]) const {
    for (auto& each : numbers)
        if (!take_number(rest, each)) return false;
    const auto file = numbers_.find(numbers[0]);
    if (file == numbers_.end()) return false;
    numbers[0] = file->second;
    return true;
}

// An inlined call's place is that of an earlier .loc. The scope of that .loc is the outer scope.
void LineTable::read_place(std::string_view rest, std::uint32_t ptx_line) {
    constexpr std::string_view inlined = "inlined_at";
    std::uint32_t numbers[3], call[3], scope = 0;
    if (!read_numbers(rest, numbers)) return;
    if (const std::size_t found = rest.find(inlined); found != std::string_view::npos) {
        std::string_view outer = rest.substr(found + inlined.size());
        if (!read_numbers(outer, call)) return;
        const Scope here{0, call[0], call[1], call[2]};
        Scope made = here;
        if (const auto at = last_.find(key_of(here)); at != last_.end()) made.parent = at->second;
        const auto [at, fresh] =
            known_.emplace(key_of(made), static_cast<std::uint32_t>(scopes_.size()));
        if (fresh) scopes_.push_back(made);
        scope = at->second;
    }
    places_.push_back({ptx_line, scope, numbers[0], numbers[1], numbers[2]});
    last_[key_of({0, numbers[0], numbers[1], numbers[2]})] = scope;
}

const LineTable::Place* LineTable::at(std::uint32_t ptx_line) const {
    const auto after = std::upper_bound(
        places_.begin(), places_.end(), ptx_line,
        [](std::uint32_t line, const Place& place) { return line < place.ptx_line; });
    if (after == places_.begin()) return nullptr;
    const Place& found = *(after - 1);
    return found.file == no_file ? nullptr : &found;
}

}  // namespace cupola::ptx
