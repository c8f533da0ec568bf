// csrc/ptx/lexer.hpp - PTX text to tokens. Bounded by the text: every character is looked at once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cupola::ptx {

struct Token {
    enum class Kind : std::uint8_t {
        end,
        word,       // add.s32, %r1, %tid.x, $L1, foo
        directive,  // .reg, .b32
        integer,
        real,    // 1.5, 0d...: value holds the bits of an f64
        single,  // 0f...: value holds the bits of an f32
        string,
        mark,  // one character
    };
    Kind kind;
    char mark;
    std::uint32_t line;
    std::string_view text;
    std::uint64_t value;
};

// Throws Error. The last token is Kind::end.
// Lines are counted from `line` on.
std::vector<Token> lex(std::string_view source, std::uint32_t line = 1);

// The text of one line for an error, stripped and cut to 200 bytes.
std::string_view line_text(std::string_view source, std::uint32_t line);

}  // namespace cupola::ptx
