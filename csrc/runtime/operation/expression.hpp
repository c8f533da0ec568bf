// csrc/runtime/operation/expression.hpp - integer expressions of a declared operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupola {

// A total expression of 64-bit integers over numbered symbols, such as "ceildiv(nx, 32) * ny".
// Evaluation neither allocates nor throws.
class Expression {
  public:
    enum class Op : std::uint8_t {
        constant,
        symbol,
        add,
        subtract,
        multiply,
        divide,
        modulo,
        ceildiv,
        least,
        greatest,
        equal,
        not_equal,
        less,
        less_equal,
        greater,
        greater_equal,
    };
    struct Step {
        Op op;
        std::int64_t value;  // a constant, or a symbol's index into the values of an evaluation
    };
    static constexpr int max_depth = 32;           // values on the stack
    static constexpr std::size_t max_text = 4096;  // bytes, and steps

    // Sets the steps in postfix order; returns what is wrong with them, or null. `comparison`: the
    // last step must compare two values, which no other step does.
    const char* set(std::string text, std::vector<Step> steps, bool comparison);

    // The value in `result`; returns what is wrong (a static text), or null.
    const char* evaluate(const std::int64_t* values, std::int64_t& result) const;
    // The two sides of a comparison, for messages.
    const char* sides(const std::int64_t* values, std::int64_t& left, std::int64_t& right) const;

    const std::string& text() const { return text_; }
    bool empty() const { return steps_.empty(); }
    // The symbol of an expression that is one name; -1 for others.
    int symbol() const;
    const std::vector<Step>& steps() const { return steps_; }

  private:
    const char* run(const std::int64_t* values, std::size_t count, std::int64_t* stack,
                    int& depth) const;

    std::vector<Step> steps_;  // in postfix order
    std::string text_;
};

}  // namespace cupola
