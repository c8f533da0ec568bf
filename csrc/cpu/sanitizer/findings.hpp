// csrc/cpu/sanitizer/findings.hpp - findings of the checks in this process.
//
// Each is reported once, on standard error, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupola::cpu::sanitizer {

// Counts a finding. True for the first of its key (check, kernel, lines), which is to be reported.
// Thread-safe.
bool is_news(const std::string& key);
void write(const std::string& headline, const std::vector<std::string>& lines);

// From now on, findings are kept for take_findings() instead of printed.
void keep_findings();
// Returns the reports since the last call. A finding that was returned is reported again when it
// occurs again.
std::string take_findings();

std::uint64_t findings();  // number of different keys
void summarise();          // at process exit: prints their number, unless they are kept

}  // namespace cupola::cpu::sanitizer
