// csrc/ptx/source_line.hpp - which line of the source a line of PTX was made of, by the .loc and
// .file directives that compilers write with -lineinfo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupola::ptx {

// "scan.cu:12", with where it was inlined; empty where the text does not say. Read off the text
// when somebody asks, who has to keep it: a module that runs well pays memory for that, no time.
std::string source_line(std::string_view text, std::uint32_t line);

}  // namespace cupola::ptx
