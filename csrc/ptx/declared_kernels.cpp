// csrc/ptx/declared_kernels.cpp - reads the heads of kernels, and the names of variables.
#include "ptx/declared_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::ptx {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

// string_view::find would stop at each dot, and PTX has many.
std::size_t find(std::string_view text, std::string_view wanted, std::size_t from) {
    if (from >= text.size()) return nowhere;
    const void* found =
        memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
                 : nowhere;
}

// The position after the string or comment that begins at `at`, or after the character at `at`.
std::size_t skip_string_or_comment(std::string_view text, std::size_t at) {
    const auto past = [&](std::size_t found, std::size_t length) {
        return found == nowhere ? text.size() : found + length;
    };
    if (text[at] == '"') {
        for (std::size_t end = at + 1; end < text.size() && text[end] != '\n'; ++end)
            if (text[end] == '"' && text[end - 1] != '\\') return end + 1;
        return at + 1;
    }
    if (text.compare(at, 2, "//") == 0) return past(text.find('\n', at), 1);
    if (text.compare(at, 2, "/*") == 0) return past(text.find("*/", at + 2), 2);
    return at + 1;
}

bool is_the_mark(const Token& token, char mark) {
    return token.kind == Token::Kind::mark && token.mark == mark;
}

// Reads ".param ..." up to ',' or ')', which is left in `token`.
bool read_parameter(std::string_view& text, Token& token, DeclaredParameter& out) {
    for (token = take_token(text); !is_the_mark(token, ',') && !is_the_mark(token, ')');
         token = take_token(text)) {
        // A bracket shows that the list is not closed: heads in a row cost linear time.
        if (token.kind == Token::Kind::end || is_the_mark(token, '(')) return false;
        if (token.text == ".align") {
            token = take_token(text);
            if (token.kind != Token::Kind::integer || token.value == 0) return false;
            if (!out.pointer)
                out.align = token.value;  // else the alignment of the pointer's target
        } else if (token.text == ".ptr") {
            out.pointer = true;
        } else if (is_the_mark(token, '[')) {
            token = take_token(text);
            if (token.kind != Token::Kind::integer || !is_the_mark(take_token(text), ']'))
                return false;
            out.array = true;
            out.count = token.value;
        } else if (token.kind == Token::Kind::directive) {
            if (const Type type = type_named(token.text.substr(1)); type != Type::none)
                out.type = type;
        }
    }
    return out.type != Type::none;
}

}  // namespace

bool DeclaredKernels::next() {
    constexpr std::string_view entry = ".entry";
    const auto advance = [&](std::size_t& place, std::string_view wanted) {
        if (place < at_ || place == 0) place = find(text_, wanted, at_);
    };
    for (;;) {
        advance(entry_, entry);
        if (entry_ == nowhere) return false;
        advance(slash_, "/");
        advance(quote_, "\"");
        if (const std::size_t other = std::min(slash_, quote_); other < entry_) {
            at_ = skip_string_or_comment(text_, other);
            continue;
        }
        at_ = entry_ + entry.size();
        rest_ = text_.substr(entry_);
        try {
            if (take_token(rest_).text != entry) continue;  // .entrypoint
            const Token token = take_token(rest_);
            if (token.kind != Token::Kind::word) continue;
            name_ = token.text;
            return true;
        } catch (const Error&) {
        }
    }
}

bool DeclaredKernels::parameters(std::vector<DeclaredParameter>& out) const {
    out.clear();
    try {
        std::string_view text = rest_;
        Token token = take_token(text);
        if (!is_the_mark(token, '(')) return true;
        while (!is_the_mark(token, ')')) {
            token = take_token(text);
            if (is_the_mark(token, ')') && out.empty()) break;
            if (token.text != ".param") return false;
            if (!read_parameter(text, token, out.emplace_back())) return false;
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::vector<std::string> declared_variables(std::string_view text) {
    std::vector<std::string> names;
    int depth = 0;          // number of open braces: bodies of functions, initialisers
    bool declares = false;  // since .global or .const, up to ';'
    bool named = false;     // since the last ','
    try {
        for (Token token = take_token(text); token.kind != Token::Kind::end;
             token = take_token(text)) {
            if (is_the_mark(token, '{')) ++depth;
            if (is_the_mark(token, '}')) --depth;
            if (depth != 0) continue;
            if (token.text == ".global" || token.text == ".const") {
                declares = true;
                named = false;
            } else if (token.text == ".func" || token.text == ".entry" || is_the_mark(token, ';')) {
                declares = false;
            } else if (!declares) {
                continue;
            } else if (is_the_mark(token, ',')) {
                named = false;
            } else if (is_the_mark(token, '(')) {  // the arguments of .attribute
                while (token.kind != Token::Kind::end && !is_the_mark(token, ')'))
                    token = take_token(text);
            } else if (!named && token.kind == Token::Kind::word) {
                named = true;
                names.emplace_back(token.text);
            }
        }
    } catch (const Error&) {  // the kernels that stand before text that is no PTX
    }
    return names;
}

}  // namespace cupola::ptx
