// csrc/ptx/token_stream.cpp - the tokens of a text, and errors at them.
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

bool TokenStream::at_operator(std::string_view text) const {
    for (std::size_t n = 0; n < text.size(); ++n) {
        const Token& token = peek(n);
        // The lexer splits "<<" into two marks, which must be adjacent.
        if (token.text.size() != 1 || token.text[0] != text[n]) return false;
        if (n != 0 && token.text.data() != peek(n - 1).text.data() + 1) return false;
    }
    return true;
}

void TokenStream::expect(char c) {
    if (!accept(c)) fail(peek(), std::string("expected '") + c + "' before " + quoted(peek()));
}

std::string_view TokenStream::expect_word(const char* what) {
    if (peek().kind != Token::Kind::word)
        fail(peek(), std::string("expected ") + what + ", got " + quoted(peek()));
    return take().text;
}

std::string_view TokenStream::expect_name(const char* what) {
    const Token& token = peek();
    const std::string_view name = expect_word(what);
    if (name.find_first_of(".:") != std::string_view::npos)
        fail(token, quoted(token) + ": " + what + " cannot contain '.' or ':'");
    return name;
}

bool TokenStream::skip_debug() {
    const std::uint32_t line = peek().line;
    if (at_directive(".file") || at_directive(".loc")) {
        // .file 1 "name"[, time, size] and .loc file line column[, ...] end at the end of the line.
        while (peek().kind != Token::Kind::end && peek().line == line) take();
        return true;
    }
    if (at_directive(".section")) {
        take();
        take();  // its name
        if (!at_mark('{'))
            fail(peek(), "expected '{' after the section's name, got " + quoted(peek()));
        skip_braces();
        return true;
    }
    if (at_directive(".pragma")) {
        while (peek().kind != Token::Kind::end && !at_mark(';')) take();
        expect(';');
        return true;
    }
    return false;
}

void TokenStream::skip_braces() {
    std::size_t depth = 0;
    do {
        if (peek().kind == Token::Kind::end)
            fail(peek(), "expected '}' before the end of the text");
        if (at_mark('{')) ++depth;
        if (at_mark('}')) --depth;
        take();
    } while (depth != 0);
}

void TokenStream::fail(const Token& at, const std::string& message, Error::Kind kind) const {
    fail_line(at.line, message, kind);
}

void TokenStream::fail_line(std::uint32_t line, const std::string& message,
                            Error::Kind kind) const {
    throw Error(kind, line, std::string(line_text(source_, line)), message);
}

std::string quoted(const Token& token) {
    if (token.kind == Token::Kind::end) return "the end of the text";
    return "'" + std::string(token.text.substr(0, 60)) + "'";
}

}  // namespace cupola::ptx
