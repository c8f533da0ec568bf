// csrc/cpu/emitter/cpp_text.cpp - the C++ text that is written, and the spelling of its types and
// moves.
#include "cpu/emitter/cpp_text.hpp"

#include <cstdio>
#include <utility>

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr std::size_t max_bytes = std::size_t{16} << 20;
}  // namespace

// Each entry fills the live registers. In hostile code that is every register at every entry.
void CppText::emit(const std::string& line) {
    text_ += "    " + line + "\n";
    if (taken_ + text_.size() > max_bytes) throw UnsupportedKernel{"its source is too long"};
}

std::string CppText::take() {
    taken_ += text_.size();
    std::string text = std::move(text_);
    text_.clear();
    return text;
}

std::string CppText::temporary(unsigned bytes) {
    const std::string name = "t" + next_number();
    emit(variable_type(bytes) + " " + name + ";");
    return name;
}

std::string word_type(unsigned bytes) { return "std::uint" + to_string(8 * bytes) + "_t"; }

std::string variable_type(unsigned bytes) {
    return bytes == 0 ? "std::uint32_t" : "Lanes<" + to_string(bytes) + ">";
}

std::string literal(std::uint64_t value, unsigned bytes) {
    if (bytes == 0) return value != 0 ? "true" : "false";
    char text[64];
    std::snprintf(text, sizeof text, "static_cast<%s>(0x%llxull)", word_type(bytes).c_str(),
                  static_cast<unsigned long long>(value));
    return text;
}

std::string fill(const std::string& name, unsigned bytes, std::int32_t offset) {
    return name + " = *reinterpret_cast<const " + variable_type(bytes) + "*>(r + " +
           to_string(offset) + ");";
}

std::string spill(const std::string& name, unsigned bytes, std::int32_t offset) {
    return "*reinterpret_cast<" + variable_type(bytes) + "*>(r + " + to_string(offset) +
           ") = " + name + ";";
}

std::string fill(const Register& r) { return fill(r.name(), r.bytes, r.offset); }
std::string spill(const Register& r) { return spill(r.name(), r.bytes, r.offset); }

std::string spill_uniform(const Register& r) {
    return "spill_uniform(" + r.name() + ", r, " + to_string(r.offset) + ");";
}

}  // namespace cupola::cpu::compiler
