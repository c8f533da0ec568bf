// csrc/runtime/operation/expression.cpp - parses and evaluates integer expressions.
#include "runtime/operation/expression.hpp"

#include <algorithm>

namespace cupola {

using Op = Expression::Op;

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Operator {
    std::string_view text;
    Op op;
};
// A longer operator stands before its prefix.
constexpr Operator comparisons[] = {{"==", Op::equal},      {"!=", Op::not_equal},
                                    {"<=", Op::less_equal}, {">=", Op::greater_equal},
                                    {"<", Op::less},        {">", Op::greater}};
constexpr Operator sums[] = {{"+", Op::add}, {"-", Op::subtract}};
constexpr Operator products[] = {{"*", Op::multiply}, {"/", Op::divide}, {"%", Op::modulo}};

// Applies an operation to two values. Returns what is wrong, or null.
const char* apply(Op op, std::int64_t& left, std::int64_t right) {
    constexpr const char* overflow = "it exceeds the range of 64-bit integers";
    switch (op) {
        case Op::add:
            return __builtin_add_overflow(left, right, &left) ? overflow : nullptr;
        case Op::subtract:
            return __builtin_sub_overflow(left, right, &left) ? overflow : nullptr;
        case Op::multiply:
            return __builtin_mul_overflow(left, right, &left) ? overflow : nullptr;
        case Op::divide:
        case Op::modulo:
        case Op::ceildiv:
            if (right == 0) return "it divides by zero";
            if (left < 0 || right < 0) return "it divides a negative number, or by one";
            if (op == Op::modulo)
                left %= right;
            else
                left = left / right + (op == Op::ceildiv && left % right != 0);
            return nullptr;
        case Op::least:
            left = std::min(left, right);
            return nullptr;
        case Op::greatest:
            left = std::max(left, right);
            return nullptr;
        case Op::equal:
            left = left == right;
            return nullptr;
        case Op::not_equal:
            left = left != right;
            return nullptr;
        case Op::less:
            left = left < right;
            return nullptr;
        case Op::less_equal:
            left = left <= right;
            return nullptr;
        case Op::greater:
            left = left > right;
            return nullptr;
        case Op::greater_equal:
            left = left >= right;
            return nullptr;
        case Op::constant:
        case Op::symbol:
            break;
    }
    return "it has an unknown operation";
}

}  // namespace

bool is_name(std::string_view text) {
    if (text.empty() || !is_letter(text[0])) return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return is_letter(c) || is_digit(c); });
}

// comparison = sum [operator sum]; sum = product {("+" | "-") product};
// product = value {("*" | "/" | "%") value};
// value = number | name | name "(" arguments ")" | "(" sum ")".
class ExpressionReader {
  public:
    ExpressionReader(std::string_view text, Expression::Symbols& symbols, Expression& out)
        : text_(text), symbols_(symbols), out_(out) {}

    std::string read(bool comparison) {
        if (!sum()) return problem_;
        Op op{};
        if (comparison) {
            if (!take(comparisons, op)) return "expected a comparison such as n >= 1" + where();
            if (!sum() || !emit(op, 0, -1)) return problem_;
        }
        skip_spaces();
        if (at_ == text_.size()) return "";
        if (!comparison && take(comparisons, op)) return "a comparison is a check, not a number";
        return "unexpected \"" + std::string(text_.substr(at_, 12)) + "\"";
    }

  private:
    bool fail(std::string text) {
        if (problem_.empty()) problem_ = std::move(text);
        return false;
    }
    std::string where() const {
        return at_ < text_.size() ? " at \"" + std::string(text_.substr(at_, 12)) + "\""
                                  : " at the end";
    }
    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }
    bool take(char c) {
        skip_spaces();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    template <std::size_t n>
    bool take(const Operator (&operators)[n], Op& op) {
        skip_spaces();
        for (const Operator& one : operators)
            if (text_.compare(at_, one.text.size(), one.text) == 0) {
                at_ += one.text.size();
                op = one.op;
                return true;
            }
        return false;
    }
    bool emit(Op op, std::int64_t value, int change) {
        depth_ += change;
        if (depth_ > Expression::max_depth) return fail("it is nested too deeply");
        out_.steps_.push_back({op, value});
        return true;
    }

    bool sum() {
        if (++nested_ > Expression::max_depth) return fail("it is nested too deeply");
        if (!product()) return false;
        for (Op op{}; take(sums, op);)
            if (!product() || !emit(op, 0, -1)) return false;
        --nested_;
        return true;
    }
    bool product() {
        if (!value()) return false;
        for (Op op{}; take(products, op);) {
            if (op == Op::divide && at_ < text_.size() && text_[at_] == '/')
                return fail("write / for a division: it rounds down");
            if (!value() || !emit(op, 0, -1)) return false;
        }
        return true;
    }
    bool value() {
        skip_spaces();
        if (at_ == text_.size()) return fail("expected a value at the end");
        if (take('(')) return sum() && close();
        if (is_digit(text_[at_])) return number();
        if (is_letter(text_[at_])) return name();
        return fail("expected a value" + where());
    }
    bool close() { return take(')') || fail("expected )" + where()); }

    bool number() {
        std::int64_t found = 0;
        for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
            if (__builtin_mul_overflow(found, 10, &found) ||
                __builtin_add_overflow(found, text_[at_] - '0', &found))
                return fail("a number exceeds the range of 64-bit integers");
        if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.'))
            return fail("only whole decimal numbers are possible" + where());
        return emit(Op::constant, found, 1);
    }

    bool name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        const std::string_view found = text_.substr(begin, at_ - begin);
        if (!take('(')) return symbol(found, nullptr);
        if (found == "ceildiv") return function(Op::ceildiv, 2);
        if (found == "min") return function(Op::least, 0);
        if (found == "max") return function(Op::greatest, 0);
        std::vector<std::string_view> arguments;
        const std::size_t end = text_.find(')', at_);
        if (end == std::string_view::npos) return fail("expected )" + where());
        while (at_ < end) {
            const std::size_t next = std::min(text_.find(',', at_), end);
            std::string_view one = text_.substr(at_, next - at_);
            while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
            while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
            arguments.push_back(one);
            at_ = std::min(next + 1, end);
        }
        at_ = end + 1;
        return symbol(found, &arguments);
    }
    // Arguments of a function of exactly `wanted` values, or, for 0, of two or more.
    bool function(Op op, int wanted) {
        int count = 0;
        do {
            if (!sum()) return false;
            if (++count > 1 && !emit(op, 0, -1)) return false;
        } while (take(','));
        if (!close()) return false;
        if (count < 2 || (wanted && count != wanted))
            return fail(wanted ? "ceildiv takes two values"
                               : "min and max take two or more values");
        return true;
    }
    bool symbol(std::string_view name, const std::vector<std::string_view>* arguments) {
        std::string why;
        const int index = symbols_.find(name, arguments, why);
        return index < 0 ? fail(why) : emit(Op::symbol, index, 1);
    }

    std::string_view text_;
    Expression::Symbols& symbols_;
    Expression& out_;
    std::size_t at_ = 0;
    int depth_ = 0, nested_ = 0;
    std::string problem_;
};

std::string Expression::parse(std::string_view text, Symbols& symbols, bool comparison,
                              Expression& out) {
    out.steps_.clear();
    if (text.size() > max_text) return "it is longer than 4096 bytes";
    out.text_ = text;
    return ExpressionReader(text, symbols, out).read(comparison);
}

Expression Expression::constant(std::int64_t value) {
    Expression made;
    made.steps_.push_back({Op::constant, value});
    made.text_ = std::to_string(value);
    return made;
}

int Expression::symbol() const {
    if (steps_.size() != 1 || steps_[0].op != Op::symbol) return -1;
    return static_cast<int>(steps_[0].value);
}

const char* Expression::run(const std::int64_t* values, std::size_t count, std::int64_t* stack,
                            int& depth) const {
    depth = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Step& step = steps_[i];
        if (step.op == Op::constant) {
            stack[depth++] = step.value;
        } else if (step.op == Op::symbol) {
            stack[depth++] = values[step.value];
        } else {
            --depth;
            if (const char* wrong = apply(step.op, stack[depth - 1], stack[depth])) return wrong;
        }
    }
    return nullptr;
}

const char* Expression::evaluate(const std::int64_t* values, std::int64_t& result) const {
    if (steps_.size() == 1) {  // most lengths and dimensions
        result = steps_[0].op == Op::symbol ? values[steps_[0].value] : steps_[0].value;
        return nullptr;
    }
    std::int64_t stack[max_depth];
    int depth = 0;
    const char* const wrong = run(values, steps_.size(), stack, depth);
    result = wrong ? 0 : stack[0];
    return wrong;
}

const char* Expression::sides(const std::int64_t* values, std::int64_t& left,
                              std::int64_t& right) const {
    std::int64_t stack[max_depth];
    int depth = 0;
    const char* const wrong = run(values, steps_.size() - 1, stack, depth);
    left = wrong ? 0 : stack[0];
    right = wrong ? 0 : stack[1];
    return wrong;
}

}  // namespace cupola
