// csrc/ptx/error.hpp - the exception that the PTX front end throws.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cupola::ptx {

struct Error : std::runtime_error {
    enum class Kind {
        invalid,               // not PTX: syntax, names, types
        unsupported_form,      // PTX, but the instruction table has no such form
        unsupported_version,   // a PTX version that this front end does not know
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
    std::string text;     // that line without leading and trailing blanks, at most 200 bytes
    std::string message;  // without line and text
};

}  // namespace cupola::ptx
