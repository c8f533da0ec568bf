// csrc/dropin/recorder/settings.hpp - what is recorded, as `python -m cupola record` asks for it.
#pragma once

#include <cstdint>
#include <regex>
#include <string>

namespace cupola::recorder {

struct Settings {
    std::string spool;  // the folder for the files; empty: nothing is recorded
    std::string text;   // of the pattern; empty: every kernel
    std::regex kernels;
    std::uint64_t first = 0, end = ~std::uint64_t{0};  // of the matching launches
    std::uint64_t limit = std::uint64_t{1} << 30;      // bytes of contents
    bool fault = false;  // keeps the last launch alone, and writes a launch that failed

    bool matches(const std::string& name) const;
};

// Read at the first call. An invalid value is reported, and nothing is recorded then.
const Settings& settings();

}  // namespace cupola::recorder
