// csrc/ptx/outline.hpp - finds the kernels of a PTX text without parsing their bodies, so that
// one kernel can be parsed without the other kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::ptx {

// A part of a text, and the number of its first line.
struct Piece {
    std::string_view text;
    std::uint32_t line = 1;
};

struct Outline {
    struct Entry {
        std::string_view name;
        Piece piece;  // linkage, head and body
    };
    // The rest of the text. It may still contain a kernel's definition in a form that the outline
    // does not recognize; only `parse` decides.
    std::vector<Piece> common;
    std::vector<Entry> entries;
    std::size_t common_bytes = 0;
};

// The text must end with a NUL. Returns nothing if the text does not look like a module or has two
// kernels of one name; `parse` then reports the error. Text between braces is not checked.
std::optional<Outline> outline(std::string_view source);

// Parses and checks a module that consists of these pieces of the source, in this order. Line
// numbers are those of the source. Throws Error.
Module parse(std::string_view source, const std::vector<Piece>& pieces);

}  // namespace cupola::ptx
