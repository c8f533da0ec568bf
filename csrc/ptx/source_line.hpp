// csrc/ptx/source_line.hpp - maps a line of PTX to a line of the source, by the .loc and .file
// directives that compilers write with -lineinfo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupola::ptx {

// "scan.cu:12", with the place where it was inlined; empty if the text has no .loc. The text is
// searched at each call, so loading a module takes no extra time; the caller keeps the text.
std::string source_line(std::string_view text, std::uint32_t line);

}  // namespace cupola::ptx
