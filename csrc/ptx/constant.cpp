// csrc/ptx/constant.cpp - evaluates constant expressions of literals and operators.
#include <cstring>

#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

constexpr unsigned deepest = 64;  // bounds the recursion: text is untrusted

// Binary operators and their precedence; those with more than one character come first.
struct Binary {
    std::string_view text;
    unsigned level;
};
constexpr Binary operators[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

double real_of(std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

}  // namespace

bool Parser::at_operator(std::string_view text) const {
    for (std::size_t n = 0; n < text.size(); ++n) {
        const Token& token = peek(n);
        // The lexer splits "<<" into two marks, which must be adjacent.
        if (token.text.size() != 1 || token.text[0] != text[n]) return false;
        if (n != 0 && token.text.data() != peek(n - 1).text.data() + 1) return false;
    }
    return true;
}

bool Parser::at_constant(std::size_t ahead) const {
    const Token& token = peek(ahead);
    switch (token.kind) {
        case Token::Kind::integer:
        case Token::Kind::real:
        case Token::Kind::single:
            return true;
        case Token::Kind::word:
            return token.text == "WARP_SZ";
        case Token::Kind::mark:
            return token.mark == '(' || token.mark == '-' || token.mark == '+' ||
                   token.mark == '~' || token.mark == '!';
        default:
            return false;
    }
}

std::int64_t Parser::constant_integer(const char* what) {
    const Token& token = peek();
    if (!at_constant()) fail(token, std::string("expected ") + what + ", got " + quoted(token));
    const Constant c = constant();
    if (c.kind != Token::Kind::integer)
        fail(token, std::string("expected an integer as ") + what + ", got " + quoted(token));
    return static_cast<std::int64_t>(c.bits);
}

Operand Parser::constant_operand() {
    Operand o;
    const Constant c = constant();
    o.kind = c.kind == Token::Kind::integer ? Operand::Kind::integer
             : c.kind == Token::Kind::real  ? Operand::Kind::real
                                            : Operand::Kind::single;
    o.value = static_cast<std::int64_t>(c.bits);
    return o;
}

Constant Parser::conditional(unsigned depth) {
    const Token& token = peek();
    const Constant condition = binary(1, depth);
    if (!at_mark('?')) return condition;
    if (condition.kind != Token::Kind::integer)
        fail(token, "the condition of '?' must be an integer");
    take();
    Constant yes = conditional(depth + 1);
    expect(':');
    Constant no = conditional(depth + 1);
    if (yes.kind != Token::Kind::integer || no.kind != Token::Kind::integer)
        fail(token, "both values of '?' must be integers");
    Constant& chosen = condition.bits != 0 ? yes : no;
    chosen.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return chosen;
}

Constant Parser::binary(unsigned level, unsigned depth) {
    Constant left = unary(depth);
    for (;;) {
        const Binary* found = nullptr;
        for (const Binary& each : operators)
            if (at_operator(each.text)) {
                found = &each;
                break;
            }
        if (!found || found->level < level) return left;
        const Token& token = peek();
        for (std::size_t n = 0; n < found->text.size(); ++n) take();
        // Operators of higher precedence are evaluated first; the level bounds this recursion.
        const Constant right = binary(found->level + 1, depth);
        left = combined(found->text, left, right, token);
    }
}

Constant Parser::unary(unsigned depth) {
    const Token& token = peek();
    if (depth >= deepest)
        fail(token,
             "a constant expression is nested more than " + std::to_string(deepest) + " deep");
    Constant c;
    switch (token.kind) {
        case Token::Kind::integer:
            c.kind = token.kind;
            c.bits = token.value;
            c.is_unsigned = token.text.back() == 'U' || token.value >> 63 != 0;
            take();
            return c;
        case Token::Kind::real:
        case Token::Kind::single:
            c.kind = token.kind;
            c.bits = token.value;
            take();
            return c;
        case Token::Kind::word:
            if (token.text == "WARP_SZ") {
                take();
                c.bits = 32;
                return c;
            }
            break;
        case Token::Kind::mark:
            return token.mark == '(' ? parenthesis(depth) : prefixed(depth);
        default:
            break;
    }
    fail(token, "expected an operand, got " + quoted(token));
}

// (expression), or a cast: (.s64) or (.u64) before its operand.
Constant Parser::parenthesis(unsigned depth) {
    take();
    if (at_directive(".s64") || at_directive(".u64")) {
        const Token& token = take();
        expect(')');
        Constant c = unary(depth + 1);
        if (c.kind != Token::Kind::integer)
            fail(token, "a cast of a floating-point constant is not supported",
                 Error::Kind::unsupported_form);
        c.is_unsigned = token.text == ".u64";
        return c;
    }
    const Constant c = conditional(depth + 1);
    expect(')');
    return c;
}

Constant Parser::prefixed(unsigned depth) {
    const Token& token = take();
    const char mark = token.mark;
    if (mark != '-' && mark != '+' && mark != '~' && mark != '!')
        fail(token, "expected an operand, got " + quoted(token));
    Constant c = unary(depth + 1);
    if (c.kind == Token::Kind::integer) {
        if (mark == '-') c.bits = ~c.bits + 1;
        if (mark == '~') c.bits = ~c.bits;
        if (mark == '!') {
            c.bits = c.bits == 0;
            c.is_unsigned = false;
        }
    } else if (mark == '-') {
        c.bits ^= c.kind == Token::Kind::real ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31;
    } else if (mark != '+') {
        fail(token, std::string("'") + mark + "' does not apply to a floating-point constant");
    }
    return c;
}

Constant Parser::combined(std::string_view op, const Constant& a, const Constant& b,
                          const Token& at) const {
    if (a.kind == Token::Kind::single || b.kind == Token::Kind::single)
        fail(at, "a 0f constant cannot be part of an expression");
    if (a.kind != b.kind) fail(at, "an expression cannot mix integer and floating-point constants");
    Constant c;
    if (a.kind == Token::Kind::real) {
        const double x = real_of(a.bits), y = real_of(b.bits);
        c.kind = Token::Kind::real;
        if (op == "+") {
            c.bits = bits_of(x + y);
        } else if (op == "-") {
            c.bits = bits_of(x - y);
        } else if (op == "*") {
            c.bits = bits_of(x * y);
        } else if (op == "/" && y != 0) {
            c.bits = bits_of(x / y);
        } else {
            c.kind = Token::Kind::integer;
            if (op == "<")
                c.bits = x < y;
            else if (op == ">")
                c.bits = x > y;
            else if (op == "<=")
                c.bits = x <= y;
            else if (op == ">=")
                c.bits = x >= y;
            else if (op == "==")
                c.bits = x == y;
            else if (op == "!=")
                c.bits = x != y;
            else
                fail(at, op == "/" ? "division by zero"
                                   : "'" + std::string(op) +
                                         "' does not apply to floating-point constants");
        }
        return c;
    }
    // Integers have 64 bits. An operation is unsigned if an operand is; a shift count does not
    // matter.
    const bool shift = op == "<<" || op == ">>";
    const bool is_unsigned = a.is_unsigned || (b.is_unsigned && !shift);
    const std::uint64_t x = a.bits, y = b.bits;
    const auto sx = static_cast<std::int64_t>(x), sy = static_cast<std::int64_t>(y);
    c.is_unsigned = is_unsigned;
    if (op == "+") {
        c.bits = x + y;
    } else if (op == "-") {
        c.bits = x - y;
    } else if (op == "*") {
        c.bits = x * y;
    } else if (op == "/" || op == "%") {
        if (y == 0) fail(at, "division by zero");
        const bool divides = op == "/";
        if (is_unsigned)
            c.bits = divides ? x / y : x % y;
        else if (sy == -1)  // INT64_MIN / -1 overflows
            c.bits = divides ? ~x + 1 : 0;
        else
            c.bits = static_cast<std::uint64_t>(divides ? sx / sy : sx % sy);
    } else if (op == "<<") {
        c.bits = x << (y & 63);
    } else if (op == ">>") {
        c.bits = is_unsigned ? x >> (y & 63) : static_cast<std::uint64_t>(sx >> (y & 63));
    } else if (op == "&") {
        c.bits = x & y;
    } else if (op == "|") {
        c.bits = x | y;
    } else if (op == "^") {
        c.bits = x ^ y;
    } else {
        c.is_unsigned = false;
        if (op == "&&")
            c.bits = x != 0 && y != 0;
        else if (op == "||")
            c.bits = x != 0 || y != 0;
        else if (op == "==")
            c.bits = x == y;
        else if (op == "!=")
            c.bits = x != y;
        else if (op == "<")
            c.bits = is_unsigned ? x < y : sx < sy;
        else if (op == ">")
            c.bits = is_unsigned ? x > y : sx > sy;
        else if (op == "<=")
            c.bits = is_unsigned ? x <= y : sx <= sy;
        else
            c.bits = is_unsigned ? x >= y : sx >= sy;
    }
    return c;
}

}  // namespace cupola::ptx
