// csrc/ptx/lexer.cpp - splits PTX text into tokens.
#include "ptx/lexer.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "ptx/error.hpp"

namespace cupola::ptx {
namespace {

enum : std::uint8_t { blank = 1, letter = 2, digit = 4, hexadecimal = 8 };

struct Classes {
    std::uint8_t of[256] = {};
    constexpr Classes() {
        for (char c : {' ', '\t', '\r', '\f', '\v', '\n'})
            of[static_cast<unsigned char>(c)] = blank;
        for (unsigned c = 'a'; c <= 'z'; ++c) of[c] = of[c - 32] = letter;
        for (unsigned c = 'a'; c <= 'f'; ++c) of[c] = of[c - 32] = letter | hexadecimal;
        for (unsigned c = '0'; c <= '9'; ++c) of[c] = digit | hexadecimal;
        of[static_cast<unsigned>('_')] = of[static_cast<unsigned>('$')] = letter;
        of[static_cast<unsigned>('%')] = letter;
    }
};
constexpr Classes classes;

bool is(char c, std::uint8_t mask) { return classes.of[static_cast<unsigned char>(c)] & mask; }

class Lexer {
  public:
    Lexer(std::string_view source, std::uint32_t line)
        : source_(source),
          at_(source.data()),
          end_(source.data() + source.size()),
          first_(line),
          line_(line) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        tokens.reserve(source_.size() / 5 + 8);
        for (;;) {
            skip_blanks();
            tokens.push_back(next());
            if (tokens.back().kind == Token::Kind::end) return tokens;
        }
    }

    Token take(std::string_view& rest) {
        skip_blanks();
        const Token token = next();
        rest = {at_, static_cast<std::size_t>(end_ - at_)};
        return token;
    }

  private:
    [[noreturn]] void fail(const std::string& message) const {
        throw Error(Error::Kind::invalid, line_,
                    std::string(line_text(source_, line_ - first_ + 1)), message);
    }

    char peek(std::size_t ahead = 0) const {
        return static_cast<std::size_t>(end_ - at_) > ahead ? at_[ahead] : '\0';
    }

    void skip_blanks() {
        for (; at_ != end_; ++at_) {
            if (*at_ == '\n') {
                ++line_;
            } else if (*at_ == '/' && peek(1) == '/') {
                while (at_ != end_ && *at_ != '\n') ++at_;
                if (at_ == end_) return;
                ++line_;
            } else if (*at_ == '/' && peek(1) == '*') {
                skip_comment();
            } else if (!is(*at_, blank)) {
                return;
            }
        }
    }

    void skip_comment() {
        for (at_ += 2; at_ != end_; ++at_) {
            if (*at_ == '\n') ++line_;
            if (*at_ == '*' && peek(1) == '/') {
                ++at_;
                return;
            }
        }
        fail("a comment is not closed; expected */");
    }

    Token make(Token::Kind kind, const char* from, std::uint64_t value = 0) const {
        return {kind, '\0', line_, {from, static_cast<std::size_t>(at_ - from)}, value};
    }

    Token next() {
        const char* from = at_;
        if (at_ == end_) return make(Token::Kind::end, from);
        const char c = *at_;
        if (is(c, digit)) return number();
        if (is(c, letter)) return word();
        if (c == '.' && is(peek(1), letter)) {
            ++at_;
            pass_part();
            return make(Token::Kind::directive, from);
        }
        if (c == '"') return quoted();
        if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
            fail("unexpected byte " + std::to_string(static_cast<unsigned char>(c)) +
                 " in PTX text");
        ++at_;
        Token token = make(Token::Kind::mark, from);
        token.mark = c;
        return token;
    }

    // A word includes its dotted parts: add.rn.f32, %tid.x, ld.global.L1::evict_last.
    Token word() {
        const char* from = at_;
        pass_part();
        while (peek() == '.' && is(peek(1), letter | digit)) {
            ++at_;
            pass_part();
        }
        return make(Token::Kind::word, from);
    }

    // Up to the next dot: add, L1::evict_last.
    void pass_part() {
        for (; at_ != end_; ++at_) {
            if (is(*at_, letter | digit)) continue;
            if (*at_ != ':' || peek(1) != ':' || !is(peek(2), letter | digit)) return;
            ++at_;
        }
    }

    Token quoted() {
        const char* from = at_++;
        for (; at_ != end_ && *at_ != '"'; ++at_) {
            if (*at_ == '\n') break;
            if (*at_ == '\\' && peek(1) != '\0') ++at_;
        }
        if (at_ == end_ || *at_ != '"') fail("a string is not closed; expected '\"'");
        ++at_;
        return make(Token::Kind::string, from);
    }

    Token number() {
        const char* from = at_;
        const char second = static_cast<char>(peek(1) | 32);
        if (*at_ == '0' && (second == 'f' || second == 'd')) {
            const unsigned digits = second == 'f' ? 8 : 16;
            at_ += 2;
            const std::uint64_t bits = digits_of(16, digits);
            return finish(
                make(second == 'f' ? Token::Kind::single : Token::Kind::real, from, bits));
        }
        if (*at_ == '0' && second == 'x') return integer(from, 2, 16);
        if (*at_ == '0' && second == 'b') return integer(from, 2, 2);
        const char* ahead = at_;
        while (ahead != end_ && is(*ahead, digit)) ++ahead;
        if (ahead != end_ && (*ahead == '.' || *ahead == 'e' || *ahead == 'E'))
            return decimal(ahead);
        return integer(from, 0, *at_ == '0' ? 8 : 10);
    }

    Token integer(const char* from, unsigned prefix, unsigned base) {
        at_ += prefix;
        const std::uint64_t value = digits_of(base, 0);
        if (at_ != end_ && *at_ == 'U') ++at_;
        return finish(make(Token::Kind::integer, from, value));
    }

    Token finish(Token token) const {
        if (at_ != end_ && is(*at_, letter | digit)) fail("malformed number");
        return token;
    }

    // Exactly `count` digits, or at least one if `count` is 0.
    std::uint64_t digits_of(unsigned base, unsigned count) {
        std::uint64_t value = 0;
        unsigned seen = 0;
        for (; at_ != end_ && is(*at_, hexadecimal) && (count == 0 || seen < count);
             ++at_, ++seen) {
            const char c = *at_;
            const unsigned v = c <= '9' ? static_cast<unsigned>(c - '0')
                                        : static_cast<unsigned>((c | 32) - 'a' + 10);
            if (v >= base) break;
            if (value > (~std::uint64_t{0} - v) / base) fail("a number does not fit 64 bits");
            value = value * base + v;
        }
        if (seen == 0 || (count != 0 && seen != count)) fail("malformed number");
        return value;
    }

    Token decimal(const char* ahead) {
        const char* from = at_;
        if (*ahead == '.')
            for (++ahead; ahead != end_ && is(*ahead, digit);) ++ahead;
        if (ahead != end_ && (*ahead == 'e' || *ahead == 'E')) {
            ++ahead;
            if (ahead != end_ && (*ahead == '+' || *ahead == '-')) ++ahead;
            while (ahead != end_ && is(*ahead, digit)) ++ahead;
        }
        const std::string copy(from, ahead);
        if (copy.size() > 400) fail("a number has more than 400 digits");
        char* stop = nullptr;
        const double value = std::strtod(copy.c_str(), &stop);
        if (*stop != '\0') fail("malformed number");
        at_ = ahead;
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return finish(make(Token::Kind::real, from, bits));
    }

    std::string_view source_;
    const char* at_;
    const char* end_;
    std::uint32_t first_, line_;
};

}  // namespace

Token SpacedWords::joined(Token word, const std::vector<Token>& tokens, std::size_t& at) {
    std::string text(word.text);
    for (; tokens[at].kind == Token::Kind::directive; ++at) text += tokens[at].text;
    texts_.push_back(std::move(text));
    word.text = texts_.back();
    return word;
}

std::vector<Token> lex(std::string_view source, std::uint32_t line) {
    return Lexer(source, line).run();
}

Token take_token(std::string_view& text) { return Lexer(text, 1).take(text); }

std::string_view line_text(std::string_view source, std::uint32_t line) {
    std::size_t from = 0;
    for (std::uint32_t n = 1; n < line; ++n) {
        from = source.find('\n', from);
        if (from == std::string_view::npos) return {};
        ++from;
    }
    std::string_view text = source.substr(from, source.find('\n', from) - from);
    while (!text.empty() && is(text.front(), blank)) text.remove_prefix(1);
    while (!text.empty() && is(text.back(), blank)) text.remove_suffix(1);
    return text.substr(0, 200);
}

}  // namespace cupola::ptx
