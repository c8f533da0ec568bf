// csrc/runtime/module/ptx_signature.cpp - parses the parameter lists of kernels in PTX text.
//
// Without a manifest, only PTX distinguishes floats from integers. The text is untrusted.
#include <cctype>
#include <cstring>
#include <optional>

#include "runtime/module/parameter.hpp"

namespace cupola {
namespace {

// Words, numbers and single characters of PTX, without comments.
class Tokens {
  public:
    Tokens(std::string_view text, std::size_t at) : text_(text), at_(at) {}
    std::size_t position() const { return at_; }

    std::string_view next() {
        skip();
        if (at_ >= text_.size()) return {};
        std::size_t begin = at_++;
        if (word(text_[begin]))
            while (at_ < text_.size() && word(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
    }

  private:
    static bool word(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' ||
               c == '%';
    }
    void skip() {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
                ++at_;
            } else if (text_.compare(at_, 2, "//") == 0) {
                std::size_t end = text_.find('\n', at_);
                at_ = end == std::string_view::npos ? text_.size() : end;
            } else if (text_.compare(at_, 2, "/*") == 0) {
                std::size_t end = text_.find("*/", at_ + 2);
                at_ = end == std::string_view::npos ? text_.size() : end + 2;
            } else {
                return;
            }
        }
    }

    std::string_view text_;
    std::size_t at_;
};

std::optional<std::uint32_t> number(std::string_view text) {
    // PTX integers: 0x10, 020, 0b10000 or 16, each with an optional U.
    if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
    std::uint32_t base = 10;
    if (text.size() > 1 && text[0] == '0') {
        base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 8;
        text.remove_prefix(base == 8 ? 1 : 2);
    }
    if (text.empty()) return {};
    std::uint64_t value = 0;
    for (char c : text) {
        std::uint32_t digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : base;
        if (digit >= base) return {};
        value = value * base + digit;
        if (value > 1u << 20) return {};
    }
    return static_cast<std::uint32_t>(value);
}

constexpr std::uint32_t max_bytes = 1 << 16;  // more than any kernel's parameters have

// Fills in kind and size from a type such as ".f32".
bool scalar(std::string_view type, Parameter& p) {
    if (type.size() < 3 || type[0] != '.') return false;
    auto bits = number(type.substr(2));
    if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64)) return false;
    p.size = *bits / 8;
    const std::uint32_t address = p.size == 8 ? CUPOLA_POINTER : 0;
    switch (type[1]) {
        case 'f':
            p.kind = CUPOLA_FLOAT;
            return true;
        case 'u':  // nvcc writes .u32 for int too: the sign is unknown
        case 's':
            p.kind = CUPOLA_INTEGER | address;
            return true;
        case 'b':
            p.kind = kinds_of_size(p.size) & ~std::uint32_t(CUPOLA_STRUCT);
            return true;
        default:
            return false;
    }
}

// Parses one ".param ..." up to ',' or ')', which remains in `token`.
bool parameter(Tokens& tokens, std::string_view& token, Parameter& p) {
    std::uint32_t align = 0;
    bool target = false;  // the following tokens describe a pointer's target
    for (token = tokens.next(); token != "," && token != ")"; token = tokens.next()) {
        if (token.empty()) return false;
        if (token == ".align") {
            auto value = number(tokens.next());
            if (!value || *value == 0) return false;
            if (!target) align = *value;
        } else if (token == ".ptr") {
            p.kind = CUPOLA_POINTER;
            target = true;
        } else if (token == "[") {
            auto length = number(tokens.next());
            if (!length || tokens.next() != "]") return false;
            if (std::uint64_t(p.size) * *length > max_bytes) return false;
            p.kind = CUPOLA_STRUCT;
            p.size *= *length;
        } else if (token[0] == '.') {
            scalar(token, p);  // .global, .const after .ptr are no types
        }
    }
    if (p.size == 0) return false;
    if (align == 0) align = p.kind == CUPOLA_STRUCT ? 1 : p.size;
    p.offset = align;  // replaced when all parameters are known
    return true;
}

// string_view::find would stop at each dot, and PTX has many.
std::size_t next_entry(std::string_view ptx, std::size_t from) {
    if (from >= ptx.size()) return std::string_view::npos;
    const void* found = memmem(ptx.data() + from, ptx.size() - from, ".entry", 6);
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - ptx.data())
                 : std::string_view::npos;
}

}  // namespace

bool from_ptx(std::string_view ptx, std::string_view kernel, std::vector<Parameter>& parameters) {
    for (std::size_t at = 0; (at = next_entry(ptx, at)) != std::string_view::npos; at += 6) {
        Tokens tokens(ptx, at);
        if (tokens.next() != ".entry" || tokens.next() != kernel) continue;
        parameters.clear();
        std::string_view token = tokens.next();
        if (token != "(") return true;  // no parameters
        std::uint32_t offset = 0;
        while (token != ")") {
            token = tokens.next();
            if (token == ")" && parameters.empty()) break;
            if (token != ".param") return false;
            Parameter p;
            if (!parameter(tokens, token, p)) return false;
            const std::uint32_t align = p.offset;
            offset = (offset + align - 1) / align * align;
            p.offset = offset;
            offset += p.size;
            if (offset > max_bytes) return false;
            parameters.push_back(std::move(p));
        }
        return true;
    }
    return false;
}

std::vector<std::string> entries_of(std::string_view ptx) {
    std::vector<std::string> names;
    for (std::size_t at = 0; (at = next_entry(ptx, at)) != std::string_view::npos; at += 6) {
        Tokens tokens(ptx, at);
        if (tokens.next() != ".entry") continue;
        std::string_view name = tokens.next();
        if (!name.empty() && name != "(") names.emplace_back(name);
    }
    return names;
}

std::vector<std::string> variables_of(std::string_view ptx) {
    std::vector<std::string> names;
    Tokens tokens(ptx, 0);
    int depth = 0;          // of braces: bodies of functions, initialisers
    bool declares = false;  // since .global or .const, up to ';'
    bool named = false;     // since the last ','
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
        if (token == "{") ++depth;
        if (token == "}") --depth;
        if (depth != 0) continue;
        if (token == ".global" || token == ".const") {
            declares = true;
            named = false;
        } else if (token == ".func" || token == ".entry" || token == ";") {
            declares = false;
        } else if (!declares) {
            continue;
        } else if (token == ",") {
            named = false;
        } else if (token == ".align") {
            tokens.next();
        } else if (token == "(") {  // of .attribute
            while (!token.empty() && token != ")") token = tokens.next();
        } else if (!named && token[0] != '.') {
            named = true;
            names.emplace_back(token);
        }
    }
    return names;
}

}  // namespace cupola
