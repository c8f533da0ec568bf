// tests/fuzz/grammar/mutator.hpp - how a fuzzer of PTX changes its inputs: by the grammar half of
// the time, by bytes the other half.
#pragma once

#include <cstring>
#include <vector>

#include "grammar.hpp"

extern "C" std::size_t LLVMFuzzerMutate(unsigned char* data, std::size_t size, std::size_t most);

namespace cupola::fuzz {

// Where lines begin; the last is the text's end.
inline std::vector<std::size_t> lines_of(std::string_view text) {
    std::vector<std::size_t> begins{0};
    for (std::size_t n = 0; n < text.size(); ++n)
        if (text[n] == '\n' && n + 1 < text.size()) begins.push_back(n + 1);
    begins.push_back(text.size());
    return begins;
}

// Replaces a register, number or word by one that the grammar makes for an instruction.
inline void change_word(std::string& text, Grammar& grammar) {
    static constexpr std::string_view blanks = " \t\n,;[](){}";
    const std::string other = grammar.instruction();
    const auto word = [&](std::string_view from, std::size_t& begin, std::size_t& end) {
        begin = from.find_first_not_of(blanks, grammar.below(from.size()));
        if (begin == std::string_view::npos) return false;
        end = std::min(from.find_first_of(blanks, begin), from.size());
        return true;
    };
    std::size_t begin, end, other_begin, other_end;
    if (!word(text, begin, end) || !word(other, other_begin, other_end)) return;
    text.replace(begin, end - begin, other, other_begin, other_end - other_begin);
}

inline std::string mutated(std::string text, Grammar& grammar) {
    if (text.empty() || grammar.one_in(24)) return grammar.module();
    const auto lines = lines_of(text);
    const std::size_t n = grammar.below(lines.size() - 1);
    const std::string line = text.substr(lines[n], lines[n + 1] - lines[n]);
    switch (grammar.below(8)) {
        case 0:
            text.erase(lines[n], line.size());
            break;
        case 1:
            text.insert(lines[grammar.below(lines.size())], line);
            break;
        case 2:
            text.insert(lines[n], grammar.variable() + "\n");
            break;
        case 3:
        case 4:
            change_word(text, grammar);
            break;
        default:
            text.insert(lines[n], grammar.statement());
            break;
    }
    return text;
}

}  // namespace cupola::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    cupola::fuzz::Grammar grammar(seed);
    if (grammar.one_in(3)) return LLVMFuzzerMutate(data, size, most);
    std::string text(reinterpret_cast<const char*>(data), size);
    for (std::size_t n = 1 + grammar.below(3); n > 0; --n)
        text = cupola::fuzz::mutated(std::move(text), grammar);
    const std::size_t length = std::min(text.size(), most);
    std::memcpy(data, text.data(), length);
    return length;
}
