// csrc/ptx/requirement.hpp - the lowest version of PTX that a text needs, for older drivers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupola::ptx {

struct Requirement {
    unsigned written = 0;    // the text's .version, 95 for 9.5
    unsigned version = 0;    // the lowest version that the text needs
    bool known = true;       // false: the tables lack `what`, so `version` is `written`
    std::uint32_t line = 0;  // of the first statement that needs the version
    std::string what;        // "mbarrier.try_wait", ".b128", ".target sm_90a"
    std::string function;    // the kernel or function that has the statement; else empty
};

// The requirements of a text, by its parts.
struct Requirements {
    // The statements of a function, or the statements outside of all functions.
    struct Part {
        std::string_view name;  // empty outside of functions
        std::string_view text;  // of a function: its linkage, head and body, or its declaration
        Requirement requirement;
        std::vector<std::string_view> words;  // words that may name functions that it uses
        bool kernel = false;
    };
    // A .pragma, which has no effect on the results of a text.
    struct Hint {
        std::string_view text;
        Requirement requirement;
    };
    std::string_view version, target;  // as written: "9.5", "sm_90a"
    bool debug = false;                // .target sm_90, debug
    Requirement of_target;
    std::vector<Part> parts;  // the first part has the statements outside of functions
    std::vector<Hint> hints;
};

// By the versions of table/*.inc and requirement_table.hpp. Throws Error where the text can't be
// split into tokens, or does not begin with .version and .target.
Requirements requirements(std::string_view text);

// The requirement of the whole text.
Requirement required_version(std::string_view text);

// The first version of PTX that has a target such as "sm_90a"; 0 for an unknown target.
unsigned first_version_of_target(std::string_view target);

}  // namespace cupola::ptx
