// csrc/platform/environment.hpp - numbers in environment variables, read in the same way by
// both libraries. Other text is an error: a wrong setting must not act as another setting.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>

namespace cupola::environment {

// Empty where the variable is not set, too.
inline std::string_view text_of(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

inline std::string refusal(const char* name, std::string_view text, const std::string& expected) {
    return std::string(name) + " is \"" + std::string(text) + "\"; expected " + expected;
}

// The decimal digits that the text begins with, which are taken off; false where there are none or
// the number has more than 64 bits.
inline bool take_digits(std::string_view& text, std::uint64_t& out) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::size_t used = 0;
    out = 0;
    for (; used < text.size() && text[used] >= '0' && text[used] <= '9'; ++used) {
        const auto digit = static_cast<std::uint64_t>(text[used] - '0');
        if (out > (most - digit) / 10) return false;
        out = out * 10 + digit;
    }
    text.remove_prefix(used);
    return used > 0;
}

// The functions below leave `out` alone where the variable is not set. For a value that the
// variable cannot have, they return false, and the reason in `error`.

inline bool read_whole(const char* name, std::uint64_t low, std::uint64_t high, std::uint64_t& out,
                       std::string& error) {
    const std::string_view text = text_of(name);
    if (text.empty()) return true;
    std::string_view rest = text;
    std::uint64_t value = 0;
    if (take_digits(rest, value) && rest.empty() && value >= low && value <= high) {
        out = value;
        return true;
    }
    error = refusal(name, text,
                    "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return false;
}

// "1000000", "64K", "512MiB", "2g".
inline bool read_bytes(const char* name, std::string_view text, std::uint64_t& out,
                       std::string& error) {
    if (text.empty()) return true;
    std::string_view rest = text;
    std::uint64_t value = 0;
    bool good = take_digits(rest, value);
    if (good && !rest.empty()) {
        const char unit = static_cast<char>(rest[0] | 0x20);  // in lower case
        const unsigned shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
        rest.remove_prefix(1);
        if (rest.size() == 2 && (rest[0] | 0x20) == 'i' && (rest[1] | 0x20) == 'b') rest = {};
        good = shift && rest.empty() && value <= std::numeric_limits<std::uint64_t>::max() >> shift;
        if (good) value <<= shift;
    }
    if (good)
        out = value;
    else
        error = refusal(name, text, "a number of bytes, as in 1000000, 64K, 512MiB or 2G");
    return good;
}

inline bool read_bytes(const char* name, std::uint64_t& out, std::string& error) {
    return read_bytes(name, text_of(name), out, error);
}

inline bool read_seconds(const char* name, double& out, std::string& error) {
    const std::string_view text = text_of(name);
    if (text.empty()) return true;
    std::istringstream stream{std::string(text)};
    stream.imbue(std::locale::classic());  // the program's may have another decimal point
    double value = 0;
    stream >> std::noskipws >> value;
    if (!stream.fail() && stream.peek() == std::istringstream::traits_type::eof() &&
        std::isfinite(value) && value >= 0) {
        out = value;
        return true;
    }
    error = refusal(name, text, "a number of seconds, 0 or more");
    return false;
}

}  // namespace cupola::environment
