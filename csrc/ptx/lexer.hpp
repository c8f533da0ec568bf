// csrc/ptx/lexer.hpp - splits PTX text into tokens. Text is untrusted; the time is linear.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
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

// Throws Error. The last token is Kind::end. The first line has the number `line`.
std::vector<Token> lex(std::string_view source, std::uint32_t line = 1);

// Removes the first token of a text, which is part of a longer one. Throws Error.
Token take_token(std::string_view& text);

// Blanks may separate a word from its modifiers: `add .s32` is `add.s32`.
class SpacedWords {
  public:
    // The word before tokens[at], with the modifiers from there on; `at` moves behind them. The
    // text of the result lives as long as this object.
    Token whole(Token word, const std::vector<Token>& tokens, std::size_t& at) {
        if (tokens[at].kind != Token::Kind::directive) return word;
        return joined(word, tokens, at);
    }

  private:
    Token joined(Token word, const std::vector<Token>& tokens, std::size_t& at);

    std::deque<std::string> texts_;
};

// One line of the text for an error message, stripped and cut to 200 bytes.
std::string_view line_text(std::string_view source, std::uint32_t line);

}  // namespace cupola::ptx
