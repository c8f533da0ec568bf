// csrc/ptx/source_line.cpp - finds the .loc before a line, and its file. Text is untrusted:
// a malformed directive is ignored.
#include "ptx/source_line.hpp"

namespace cupola::ptx {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Removes the first word and returns it.
std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    const std::size_t end = text.find_first_of(" \t\r,");
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(word.size());
    return word;
}

// Calls f(line) for each line until it returns false.
template <class F>
void each_line(std::string_view text, F f) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (!f(trimmed(text.substr(0, end))) || end == std::string_view::npos) return;
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

std::string file_name(std::string_view text, std::string_view number) {
    std::string found;
    each_line(text, [&](std::string_view line) {
        if (take_word(line) != ".file" || take_word(line) != number) return true;
        const std::size_t first = line.find('"'), last = line.rfind('"');
        if (first != std::string_view::npos && last > first)
            found = line.substr(first + 1, last - first - 1);
        return found.empty();
    });
    return found;
}

// `numbers` is "1 12 3": a file's number, the line and the column.
std::string place_of(std::string_view text, std::string_view numbers) {
    const std::string_view file = take_word(numbers), line = take_word(numbers);
    std::string name = file_name(text, file);
    if (name.empty() || line.empty()) return {};
    return name.append(":").append(line);
}

}  // namespace

std::string source_line(std::string_view text, std::uint32_t line) {
    std::string_view loc;
    std::uint32_t at = 0;
    each_line(text, [&](std::string_view each) {
        std::string_view rest = each;
        if (take_word(rest) == ".loc") loc = rest;
        if (begins_function(each)) loc = {};
        return ++at < line;
    });
    std::string place = place_of(text, loc);
    constexpr std::string_view inlined = "inlined_at";
    if (const std::size_t found = loc.find(inlined);
        found != std::string_view::npos && !place.empty())
        if (const std::string outer = place_of(text, loc.substr(found + inlined.size()));
            !outer.empty())
            place += ", inlined at " + outer;
    return place;
}

}  // namespace cupola::ptx
