// csrc/ptx/error.hpp - the one error that reading PTX can end in.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cupola::ptx {

struct Error : std::runtime_error {
    enum class Kind {
        invalid,               // not PTX: syntax, names, types
        unsupported_form,      // PTX, of a form which is not in the instruction table
        unsupported_version,   // PTX of a version nobody here has read about
        unresolved_extern,     // a function or variable that no module defines
        duplicate_definition,  // a name that two linked texts define
    };

    Error(Kind k, std::uint32_t at, std::string source, const std::string& what)
        : std::runtime_error("line " + std::to_string(at) + ": " + what +
                             (source.empty() ? "" : "\n    " + source)),
          kind(k),
          line(at),
          text(std::move(source)),
          message(what) {}

    Kind kind;
    std::uint32_t line;   // from 1
    std::string text;     // that line, without surrounding blanks, at most 200 bytes
    std::string message;  // without line and text
};

}  // namespace cupola::ptx
