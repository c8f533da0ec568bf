// csrc/runtime/operation/expression.cpp - evaluates integer expressions.
#include "runtime/operation/expression.hpp"

#include <algorithm>
#include <utility>

namespace cupola {

using Op = Expression::Op;

namespace {

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
            if (left < 0 || right < 0)
                return "it divides a negative number, or by a negative number";
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

const char* Expression::set(std::string text, std::vector<Step> steps, bool comparison) {
    int depth = 0;
    for (const Step& step : steps) {
        const bool pushes = step.op == Op::constant || step.op == Op::symbol;
        depth += pushes ? 1 : -1;
        if (depth < 1) return "a step lacks a value";
        if (depth > max_depth) return "it is nested too deeply";
        const bool compares = step.op >= Op::equal;
        if (compares != (comparison && &step == &steps.back()))
            return compares ? "a comparison is a check, not a number" : "expected a comparison";
    }
    if (depth != 1) return "its steps do not leave one value";
    text_ = std::move(text);
    steps_ = std::move(steps);
    return nullptr;
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
