// csrc/ptx/link_sections.hpp - joins the .section directives of linked texts: debug information.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/lexer.hpp"

namespace cupola::ptx {

// A section of a text: the tokens between its braces.
struct DebugSection {
    std::string_view name;  // ".debug_info"
    std::size_t begin, end;
};

// Sections of one name become one section. The views of the texts must stay valid.
class LinkedSections {
  public:
    // Adds a text's sections with some words renamed.
    void add(const std::vector<Token>& tokens, const std::vector<DebugSection>& sections,
             const std::map<std::string_view, std::string>& renamed);
    void write(std::string& out) const;

  private:
    struct Content {
        std::string text;
        std::uint64_t bytes = 0;
    };

    std::map<std::string_view, Content> contents_;
};

}  // namespace cupola::ptx
