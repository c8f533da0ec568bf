// csrc/cpu/debugger/request.cpp - reads requests of a front end, and writes frames.
#include "cpu/debugger/request.hpp"

#include <cstdio>

#include "platform/environment.hpp"

namespace cupola::cpu::debugger {
namespace {

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

bool take_number(std::string_view& text, std::uint32_t& out) {
    std::uint64_t value = 0;
    if (!environment::take_digits(text, value) || value > 0xffffffffu) return false;
    out = static_cast<std::uint32_t>(value);
    return true;
}

bool read_breakpoint(std::string_view line, std::size_t ops, Breakpoint& b) {
    if (!take_number(line, b.id) || !take(line, ' ') || !take_number(line, b.op) ||
        !take(line, ' ') || b.op >= ops)
        return false;
    b.any_block = take(line, '*');
    for (int axis = 0; axis < 3 && !b.any_block; ++axis)
        if ((axis != 0 && !take(line, ',')) || !take_number(line, b.block[axis])) return false;
    if (!take(line, ' ')) return false;
    b.any_thread = take(line, '*');
    if (!b.any_thread && !take_number(line, b.thread)) return false;
    return line.empty();
}

std::uint32_t word_of(std::string_view bytes) {
    std::uint32_t word = 0;
    for (int n = 3; n >= 0; --n)
        word = word << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(n)]);
    return word;
}

}  // namespace

Request request_of(std::string_view payload) {
    const std::size_t blank = payload.find(' ');
    if (blank == std::string_view::npos) return {payload, {}};
    return {payload.substr(0, blank), payload.substr(blank + 1)};
}

std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view text, std::size_t count) {
    std::vector<std::uint64_t> numbers(count);
    for (std::size_t n = 0; n < count; ++n)
        if ((n != 0 && !take(text, ' ')) || !environment::take_digits(text, numbers[n]))
            return std::nullopt;
    if (!text.empty()) return std::nullopt;
    return numbers;
}

std::optional<std::vector<Breakpoint>> breakpoints_of(std::string_view text, std::size_t ops) {
    std::vector<Breakpoint> found;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (!read_breakpoint(text.substr(0, end), ops, found.emplace_back())) return std::nullopt;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return found;
}

std::optional<Statements> statements_of(std::string_view bytes, std::size_t ops) {
    if (bytes.size() != 5 * ops) return std::nullopt;
    Statements all;
    for (std::size_t n = 0; n < ops; ++n) all.of_op.push_back(word_of(bytes.substr(4 * n, 4)));
    for (const char each : bytes.substr(4 * ops))
        all.inlined.push_back(static_cast<std::uint8_t>(each));
    return all;
}

std::optional<std::size_t> frame_bytes(const unsigned char (&head)[4]) {
    const std::size_t size =
        word_of(std::string_view(reinterpret_cast<const char*>(head), sizeof head));
    if (size > max_frame_bytes) return std::nullopt;
    return size;
}

std::string frame_of(std::string_view payload) {
    std::string frame;
    for (unsigned n = 0; n < 4; ++n)
        frame += static_cast<char>(static_cast<std::uint32_t>(payload.size()) >> 8 * n & 0xff);
    return frame.append(payload);
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
            out += escaped;
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace cupola::cpu::debugger
