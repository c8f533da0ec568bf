// csrc/image/heading.cpp - reads the version and target at the beginning of PTX.
#include <algorithm>
#include <cctype>

#include "image/image.hpp"

namespace cupola::image {
namespace {

bool take(std::string_view& text, std::string_view word) {
    if (text.substr(0, word.size()) != word) return false;
    text.remove_prefix(word.size());
    return true;
}

// Takes a number of at most four digits.
bool take_number(std::string_view& text, unsigned& out) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (end == 0 || end > 4) return false;
    out = 0;
    for (const char c : text.substr(0, end)) out = out * 10 + static_cast<unsigned>(c - '0');
    text.remove_prefix(end);
    return true;
}

}  // namespace

std::size_t skip_blank(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (std::isspace(static_cast<unsigned char>(text[at]))) {
            ++at;
        } else if (text.compare(at, 2, "//") == 0) {
            at = text.find('\n', at);
        } else if (text.compare(at, 2, "/*") == 0) {
            at = text.find("*/", at + 2);
            if (at != std::string_view::npos) at += 2;
        } else {
            return at;
        }
    }
    return text.size();
}

std::optional<Heading> heading(std::string_view ptx) {
    Heading found;
    unsigned minor = 0;
    const auto skip = [&] { ptx.remove_prefix(skip_blank(ptx)); };
    skip();
    if (!take(ptx, ".version")) return {};
    skip();
    const std::string_view rest = ptx;
    if (!take_number(ptx, found.version) || !take(ptx, ".") || !take_number(ptx, minor) ||
        minor > 9)
        return {};
    found.version = found.version * 10 + minor;
    found.number = rest.substr(0, rest.size() - ptx.size());
    skip();
    if (!take(ptx, ".target")) return {};
    skip();
    if (!take(ptx, "sm_") || !take_number(ptx, found.target)) return {};
    if (!ptx.empty() && (ptx[0] == 'a' || ptx[0] == 'f')) found.variant = ptx[0];
    return found;
}

}  // namespace cupola::image
