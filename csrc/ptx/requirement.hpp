// csrc/ptx/requirement.hpp - the lowest version of PTX that a text needs, for older drivers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupola::ptx {

struct Requirement {
    unsigned written = 0;    // the text's .version, 95 for 9.5
    unsigned version = 0;    // the lowest version that the text needs
    bool known = true;       // false: the tables lack `what`, so `version` is `written`
    std::uint32_t line = 0;  // of the first statement that needs the version
    std::string what;        // "mbarrier.try_wait", ".b128", ".target sm_90a"
    std::string function;    // the kernel or function around it; empty outside of them
};

// By the versions of table/*.inc and requirement_table.hpp. Throws Error where the text can't be
// split into tokens, or does not begin with .version and .target.
Requirement required_version(std::string_view text);

}  // namespace cupola::ptx
