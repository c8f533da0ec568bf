// csrc/runtime/operation/expression.hpp - integer expressions of a declared operation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupola {

// A total expression of 64-bit integers over numbered symbols, such as "ceildiv(nx, 32) * ny".
// Evaluation neither allocates nor throws.
class Expression {
  public:
    // The symbols that an expression may name; each is an index into the values of an evaluation.
    class Symbols {
      public:
        virtual ~Symbols() = default;
        // The index of "nx", or of a call such as "stride(u, 0)" with its arguments' texts. On
        // failure, -1, and `problem` says why.
        virtual int find(std::string_view name, const std::vector<std::string_view>* arguments,
                         std::string& problem) = 0;
    };

    // Returns what is wrong with the text, or "". `comparison`: the text must compare two values.
    static std::string parse(std::string_view text, Symbols& symbols, bool comparison,
                             Expression& out);
    static Expression constant(std::int64_t value);

    // The value in `result`; returns what is wrong (a static text), or null.
    const char* evaluate(const std::int64_t* values, std::int64_t& result) const;
    // The two sides of a comparison, for messages.
    const char* sides(const std::int64_t* values, std::int64_t& left, std::int64_t& right) const;

    const std::string& text() const { return text_; }
    bool empty() const { return steps_.empty(); }
    // The symbol of an expression that is one name; -1 for others.
    int symbol() const;

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
        std::int64_t value;  // of a constant, or a symbol's index
    };
    static constexpr int max_depth = 32;           // values on the stack, and nested parentheses
    static constexpr std::size_t max_text = 4096;  // bytes

  private:
    friend class ExpressionReader;
    const char* run(const std::int64_t* values, std::size_t count, std::int64_t* stack,
                    int& depth) const;

    std::vector<Step> steps_;  // in postfix order
    std::string text_;
};

// Whether a text is a name: a letter or "_", then also digits.
bool is_name(std::string_view text);

}  // namespace cupola
