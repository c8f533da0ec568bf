// csrc/ptx/link_sections.cpp - joins sections and moves the offsets that name a section.
#include "ptx/link_sections.hpp"

namespace cupola::ptx {
namespace {

bool is_mark(const Token& token, char c) {
    return token.kind == Token::Kind::mark && token.mark == c;
}

std::uint64_t width_of(const Token& token) {
    if (token.kind != Token::Kind::directive) return 0;
    if (token.text == ".b8") return 1;
    if (token.text == ".b16") return 2;
    if (token.text == ".b32") return 4;
    return token.text == ".b64" ? 8 : 0;
}

// The size of data such as `.b8 1,2` and `.b32 .debug_abbrev+4`.
std::uint64_t bytes_of(const std::vector<Token>& tokens, const DebugSection& section) {
    std::uint64_t bytes = 0, width = 0;
    for (std::size_t i = section.begin; i < section.end; ++i) {
        if (const std::uint64_t other = width_of(tokens[i])) bytes += width = other;
        if (is_mark(tokens[i], ',')) bytes += width;
    }
    return bytes;
}

}  // namespace

void LinkedSections::add(const std::vector<Token>& tokens,
                         const std::vector<DebugSection>& sections,
                         const std::map<std::string_view, std::string>& renamed) {
    std::map<std::string_view, std::uint64_t> before;  // bytes of earlier texts
    for (const auto& [name, content] : contents_) before.emplace(name, content.bytes);
    for (const DebugSection& section : sections) {
        Content& content = contents_[section.name];
        content.bytes += bytes_of(tokens, section);
        if (section.begin == section.end) continue;
        const char* from = tokens[section.begin].text.data();
        for (std::size_t i = section.begin; i < section.end; ++i) {
            const Token& token = tokens[i];
            std::string other;
            const char* end = token.text.data() + token.text.size();
            if (token.kind == Token::Kind::word) {
                if (const auto found = renamed.find(token.text); found != renamed.end())
                    other = found->second;
            } else if (const auto found = before.find(token.text);
                       token.kind == Token::Kind::directive && found != before.end()) {
                std::uint64_t offset = found->second;
                if (i + 2 < section.end && is_mark(tokens[i + 1], '+') &&
                    tokens[i + 2].kind == Token::Kind::integer) {
                    offset += tokens[i += 2].value;
                    end = tokens[i].text.data() + tokens[i].text.size();
                }
                other = std::string(token.text) + "+" + std::to_string(offset);
            }
            if (other.empty()) continue;
            content.text.append(from, token.text.data());
            content.text += other;
            from = end;
        }
        const std::string_view last = tokens[section.end - 1].text;
        content.text.append(from, last.data() + last.size());
        content.text += '\n';
    }
}

void LinkedSections::write(std::string& out) const {
    for (const auto& [name, content] : contents_)
        out += ".section " + std::string(name) + "\n{\n" + content.text + "}\n";
}

}  // namespace cupola::ptx
