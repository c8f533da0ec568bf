// csrc/ptx/outline.cpp - finds kernels in one pass that counts braces.
#include "ptx/outline.hpp"

#include <cstring>
#include <unordered_set>

namespace cupola::ptx {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_word_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

// The characters that the pass stops at; it skips every other one.
struct Marks {
    bool of[256] = {};
    constexpr Marks() {
        for (char c : {'{', '}', ';', '"', '/', '\n', '='})
            of[static_cast<unsigned char>(c)] = true;
    }
};
constexpr Marks marks;

// The number of line ends within `count` characters.
std::uint32_t lines(const char* at, std::size_t count) {
    constexpr std::uint64_t ones = 0x0101010101010101, low = 0x7f7f7f7f7f7f7f7f;
    std::uint32_t found = 0;
    for (; count >= 8; at += 8, count -= 8) {
        std::uint64_t eight;
        std::memcpy(&eight, at, 8);
        eight ^= ones * '\n';  // a line end is a zero byte now; the next line sets its top bit
        eight = ~(((eight & low) + low) | eight | low);
        found += static_cast<std::uint32_t>(__builtin_popcountll(eight));
    }
    for (; count > 0; ++at, --count) found += *at == '\n';
    return found;
}

class Scanner {
  public:
    explicit Scanner(std::string_view source)
        : begin_(source.data()), at_(begin_), end_(begin_ + source.size()) {}

    std::optional<Outline> run() {
        Outline found;
        std::unordered_set<std::string_view> names;
        while (skip_blanks()) {
            const char* const start = at_;
            const std::uint32_t line = line_;
            const std::string_view name = entry_name();
            const Item item = finish();
            if (item == Item::broken) return {};
            const Piece piece{{start, static_cast<std::size_t>(at_ - start)}, line};
            if (name.empty() || item != Item::body) {
                found.common_bytes += piece.text.size();
                found.common.push_back(piece);
            } else if (names.insert(name).second) {
                found.entries.push_back({name, piece});
            } else {
                return {};
            }
        }
        if (broken_) return {};
        return found;
    }

  private:
    enum class Item { broken, statement, body };

    // Skips blanks and comments; false at the end of the text.
    bool skip_blanks() {
        while (at_ != end_) {
            if (*at_ == '\n') ++line_;
            if (is_space(*at_)) {
                ++at_;
            } else if (*at_ != '/') {
                return true;
            } else if (!skip_comment()) {
                broken_ = true;
                return false;
            }
        }
        return false;
    }

    // Skips a comment; false if there is none, or if it is not closed.
    bool skip_comment() {
        const char* const past = past_comment(at_);
        if (!past) return false;
        line_ += lines(at_, static_cast<std::size_t>(past - at_));
        at_ = past;
        return true;
    }

    // The end of the comment at `at`; null if there is none, or if it is not closed.
    const char* past_comment(const char* at) const {
        if (end_ - at < 2 || at[0] != '/') return nullptr;
        const auto left = static_cast<std::size_t>(end_ - at);
        if (at[1] == '/') {
            const void* const line = std::memchr(at, '\n', left);
            return line ? static_cast<const char*>(line) : end_;
        }
        if (at[1] != '*') return nullptr;
        const void* const close = memmem(at + 2, left - 2, "*/", 2);
        return close ? static_cast<const char*>(close) + 2 : nullptr;
    }

    // The next word after blanks and comments.
    std::string_view next_word(const char*& at) const {
        for (;;) {
            while (at != end_ && is_space(*at)) ++at;
            const char* const past = past_comment(at);
            if (!past) break;
            at = past;
        }
        const char* const from = at;
        while (at != end_ && is_word_character(*at)) ++at;
        return {from, static_cast<std::size_t>(at - from)};
    }

    // The name of the kernel that begins here; empty if it is not a kernel.
    std::string_view entry_name() const {
        const char* at = at_;
        std::string_view directive = next_word(at);
        while (directive == ".visible" || directive == ".weak" || directive == ".common" ||
               directive == ".extern")
            directive = next_word(at);
        return directive == ".entry" ? next_word(at) : std::string_view();
    }

    // Skips a directive's line, or a statement up to the semicolon or brace that ends it.
    Item finish() {
        const char* at = at_;
        const std::string_view directive = next_word(at);
        if (directive.empty() || directive[0] != '.') return Item::broken;
        for (const std::string_view one : {".version", ".target", ".address_size", ".file"})
            if (directive == one) return finish_line();
        int depth = 0;
        bool assigned = false;
        while (at_ != end_) {
            if (depth > 0) {
                // Bodies are most of a text, and strcspn checks many characters at a time.
                const std::size_t far = std::strcspn(at_, "{}\"/");
                line_ += lines(at_, far);
                at_ += far;
                if (at_ == end_) return Item::broken;
            }
            const char c = *at_;
            if (!marks.of[static_cast<unsigned char>(c)]) {
                ++at_;
                continue;
            }
            switch (c) {
                case '\n':
                    ++line_;
                    break;
                case '"':
                    if (!string()) return Item::broken;
                    continue;
                case '/':
                    if (end_ - at_ >= 2 && (at_[1] == '/' || at_[1] == '*')) {
                        if (!skip_comment()) return Item::broken;
                        continue;
                    }
                    break;
                case '=':
                    assigned |= depth == 0;
                    break;
                case '{':
                    ++depth;
                    break;
                case '}':
                    if (--depth < 0) return Item::broken;
                    if (depth == 0 && !assigned) {
                        ++at_;
                        return Item::body;
                    }
                    break;
                default:  // a semicolon
                    if (depth == 0) {
                        ++at_;
                        return Item::statement;
                    }
                    break;
            }
            ++at_;
        }
        return Item::broken;
    }

    Item finish_line() {
        while (at_ != end_ && *at_ != '\n') {
            if (*at_ == '"') {
                if (!string()) return Item::broken;
            } else if (*at_ == '/') {
                break;  // a comment
            } else {
                ++at_;
            }
        }
        return Item::statement;
    }

    bool string() {
        for (++at_; at_ != end_ && *at_ != '"'; ++at_) {
            if (*at_ == '\n') return false;
            if (*at_ == '\\' && end_ - at_ >= 2 && at_[1] != '\0') ++at_;
        }
        if (at_ == end_) return false;
        ++at_;
        return true;
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    std::uint32_t line_ = 1;
    bool broken_ = false;
};

}  // namespace

std::optional<Outline> outline(std::string_view source) { return Scanner(source).run(); }

}  // namespace cupola::ptx
