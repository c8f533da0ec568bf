// csrc/cpu/emitter/cpp_text.hpp - the C++ text that is written, and the spelling of its types and
// moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

// The text of one function. The next function of the kernel uses other numbers for its names.
class CppText {
  public:
    // Adds a line. Throws UnsupportedKernel if the kernel's text gets too long.
    void emit(const std::string& line);
    // Adds complete lines.
    void append(const std::string& lines) { text_ += lines; }
    void insert(std::size_t at, const std::string& lines) { text_.insert(at, lines); }
    std::size_t size() const { return text_.size(); }
    // Returns the text so far, and begins an empty text.
    std::string take();
    // A number for a name. No other name of the kernel has this number.
    std::string next_number() { return std::to_string(numbers_++); }
    // Declares a variable for a register of `bytes` bytes, and returns the variable's name.
    std::string temporary(unsigned bytes);

  private:
    std::string text_;
    std::size_t taken_ = 0;  // bytes of the texts that were taken
    std::uint32_t numbers_ = 0;
};

std::string word_type(unsigned bytes);
std::string variable_type(unsigned bytes);
// A value of so many bytes; of a predicate, which has none, true or false.
std::string literal(std::uint64_t value, unsigned bytes);
// Between a variable and the register file. A predicate has no bytes: it is a word with one bit for
// each lane.
std::string fill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string spill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string fill(const Register& r);
std::string spill(const Register& r);
// Spills a uniform value that is no predicate.
std::string spill_uniform(const Register& r);

}  // namespace cupola::cpu::compiler
