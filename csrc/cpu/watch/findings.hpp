// csrc/cpu/watch/findings.hpp - what the checks have found in this process: each finding is
// reported once, on standard error, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupola::cpu::watch {

// Counts a finding. True where it is the first of its key (check, kernel, lines): then it is to be
// written. From any thread.
bool is_news(const std::string& key);
void write(const std::string& headline, const std::vector<std::string>& lines);

std::uint64_t findings();  // of different keys
void summarise();          // at the process's end, where there are any: how many

}  // namespace cupola::cpu::watch
