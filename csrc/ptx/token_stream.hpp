// csrc/ptx/token_stream.hpp - the tokens of a text, and errors at them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::ptx {

class TokenStream {
  public:
    // The last token is Kind::end.
    TokenStream(std::string_view source, std::vector<Token> tokens)
        : source_(source), tokens_(std::move(tokens)) {}

    const Token& peek(std::size_t ahead = 0) const {
        const std::size_t i = at_ + ahead;
        return i < tokens_.size() ? tokens_[i] : tokens_.back();
    }
    // Stays at the last token.
    const Token& take() {
        const Token& token = peek();
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    // A word with its modifiers, which blanks may separate from it.
    Token take_spaced() {
        const Token& word = take();
        return words_.whole(word, tokens_, at_);
    }
    bool at_mark(char c) const { return peek().kind == Token::Kind::mark && peek().mark == c; }
    bool at_directive(std::string_view name) const {
        return peek().kind == Token::Kind::directive && peek().text == name;
    }
    // Whether the next tokens are the marks of an operator, without blanks between them.
    bool at_operator(std::string_view text) const;
    bool accept(char c) {
        if (!at_mark(c)) return false;
        take();
        return true;
    }
    void expect(char c);
    std::string_view expect_word(const char* what);
    std::string_view expect_name(const char* what);  // a name that is declared here
    // Skips a directive without an effect, such as .loc or .pragma; false if none is next.
    bool skip_debug();

    [[noreturn]] void fail(const Token& at, const std::string& message,
                           Error::Kind kind = Error::Kind::invalid) const;
    [[noreturn]] void fail_line(std::uint32_t line, const std::string& message,
                                Error::Kind kind = Error::Kind::invalid) const;

  private:
    void skip_braces();

    std::string_view source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    SpacedWords words_;
};

// The token as messages print it.
std::string quoted(const Token& token);

}  // namespace cupola::ptx
