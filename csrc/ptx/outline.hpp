// csrc/ptx/outline.hpp - where the kernels of a PTX text are, found without reading what is in
// them: so one can be read without the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::ptx {

// A part of a text, and the number of the line that it begins on.
struct Piece {
    std::string_view text;
    std::uint32_t line = 1;
};

struct Outline {
    struct Entry {
        std::string_view name;
        Piece piece;  // its linkage, head and body
    };
    // All that was not taken for a kernel's definition. Whoever reads it looks whether there is one
    // in it for all that: `parse` is what says what a text means.
    std::vector<Piece> common;
    std::vector<Entry> entries;
    std::size_t common_bytes = 0;
};

// Behind the text stands a NUL. Nothing where it has another form than that of a module, or kernels
// of one name; what is wrong with it is then for `parse` to say. What stands between braces is not
// looked at.
std::optional<Outline> outline(std::string_view source);

// Reads and checks a module that consists of these pieces of the source, in this order. Lines are
// the source's. Throws Error.
Module parse(std::string_view source, const std::vector<Piece>& pieces);

}  // namespace cupola::ptx
