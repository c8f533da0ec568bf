// csrc/ptx/constant.cpp - evaluates constant expressions of literals and operators.
#include "ptx/constant.hpp"

#include <cstring>

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

class ConstantExpression {
  public:
    explicit ConstantExpression(TokenStream& tokens) : tokens_(tokens) {}
    Constant read() { return conditional(0); }

  private:
    Constant conditional(unsigned depth);
    Constant binary(unsigned level, unsigned depth);
    Constant unary(unsigned depth);
    Constant parenthesis(unsigned depth);
    Constant prefixed(unsigned depth);
    Constant combined(std::string_view op, const Constant& a, const Constant& b,
                      const Token& at) const;

    TokenStream& tokens_;
};

Constant ConstantExpression::conditional(unsigned depth) {
    const Token& token = tokens_.peek();
    const Constant condition = binary(1, depth);
    if (!tokens_.at_mark('?')) return condition;
    if (condition.kind != Token::Kind::integer)
        tokens_.fail(token, "the condition of '?' must be an integer");
    tokens_.take();
    Constant yes = conditional(depth + 1);
    tokens_.expect(':');
    Constant no = conditional(depth + 1);
    if (yes.kind != Token::Kind::integer || no.kind != Token::Kind::integer)
        tokens_.fail(token, "both values of '?' must be integers");
    Constant& chosen = condition.bits != 0 ? yes : no;
    chosen.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return chosen;
}

Constant ConstantExpression::binary(unsigned level, unsigned depth) {
    Constant left = unary(depth);
    for (;;) {
        const Binary* found = nullptr;
        for (const Binary& each : operators)
            if (tokens_.at_operator(each.text)) {
                found = &each;
                break;
            }
        if (!found || found->level < level) return left;
        const Token& token = tokens_.peek();
        for (std::size_t n = 0; n < found->text.size(); ++n) tokens_.take();
        // Operators of higher precedence are evaluated first; the level bounds this recursion.
        const Constant right = binary(found->level + 1, depth);
        left = combined(found->text, left, right, token);
    }
}

Constant ConstantExpression::unary(unsigned depth) {
    const Token& token = tokens_.peek();
    if (depth >= deepest)
        tokens_.fail(token, "a constant expression is nested more than " + std::to_string(deepest) +
                                " deep");
    Constant c;
    switch (token.kind) {
        case Token::Kind::integer:
            c.kind = token.kind;
            c.bits = token.value;
            c.is_unsigned = token.text.back() == 'U' || token.value >> 63 != 0;
            tokens_.take();
            return c;
        case Token::Kind::real:
        case Token::Kind::single:
            c.kind = token.kind;
            c.bits = token.value;
            tokens_.take();
            return c;
        case Token::Kind::word:
            if (token.text == "WARP_SZ") {
                tokens_.take();
                c.bits = 32;
                return c;
            }
            break;
        case Token::Kind::mark:
            return token.mark == '(' ? parenthesis(depth) : prefixed(depth);
        default:
            break;
    }
    tokens_.fail(token, "expected an operand, got " + quoted(token));
}

// (expression), or a cast: (.s64) or (.u64) before its operand.
Constant ConstantExpression::parenthesis(unsigned depth) {
    tokens_.take();
    if (tokens_.at_directive(".s64") || tokens_.at_directive(".u64")) {
        const Token& token = tokens_.take();
        tokens_.expect(')');
        Constant c = unary(depth + 1);
        if (c.kind != Token::Kind::integer)
            tokens_.fail(token, "a cast of a floating-point constant is not supported",
                         Error::Kind::unsupported_form);
        c.is_unsigned = token.text == ".u64";
        return c;
    }
    const Constant c = conditional(depth + 1);
    tokens_.expect(')');
    return c;
}

Constant ConstantExpression::prefixed(unsigned depth) {
    const Token& token = tokens_.take();
    const char mark = token.mark;
    if (mark != '-' && mark != '+' && mark != '~' && mark != '!')
        tokens_.fail(token, "expected an operand, got " + quoted(token));
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
        tokens_.fail(token,
                     std::string("'") + mark + "' does not apply to a floating-point constant");
    }
    return c;
}

Constant ConstantExpression::combined(std::string_view op, const Constant& a, const Constant& b,
                                      const Token& at) const {
    if (a.kind == Token::Kind::single || b.kind == Token::Kind::single)
        tokens_.fail(at, "a 0f constant cannot be part of an expression");
    if (a.kind != b.kind)
        tokens_.fail(at, "an expression cannot mix integer and floating-point constants");
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
                tokens_.fail(at, op == "/" ? "division by zero"
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
        if (y == 0) tokens_.fail(at, "division by zero");
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

}  // namespace

bool at_constant(const TokenStream& tokens, std::size_t ahead) {
    const Token& token = tokens.peek(ahead);
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

Constant constant(TokenStream& tokens) { return ConstantExpression(tokens).read(); }

std::int64_t constant_integer(TokenStream& tokens, const char* what) {
    const Token& token = tokens.peek();
    if (!at_constant(tokens))
        tokens.fail(token, std::string("expected ") + what + ", got " + quoted(token));
    const Constant c = constant(tokens);
    if (c.kind != Token::Kind::integer)
        tokens.fail(token,
                    std::string("expected an integer as ") + what + ", got " + quoted(token));
    return static_cast<std::int64_t>(c.bits);
}

Operand constant_operand(TokenStream& tokens) {
    Operand o;
    const Constant c = constant(tokens);
    o.kind = c.kind == Token::Kind::integer ? Operand::Kind::integer
             : c.kind == Token::Kind::real  ? Operand::Kind::real
                                            : Operand::Kind::single;
    o.value = static_cast<std::int64_t>(c.bits);
    return o;
}

std::uint64_t constant_unsigned(TokenStream& tokens, const char* what) {
    if (tokens.peek().kind == Token::Kind::word && tokens.peek().text == "WARP_SZ") {
        tokens.take();
        return 32;
    }
    if (tokens.peek().kind != Token::Kind::integer)
        tokens.fail(tokens.peek(),
                    std::string("expected ") + what + ", got " + quoted(tokens.peek()));
    return tokens.take().value;
}

}  // namespace cupola::ptx
