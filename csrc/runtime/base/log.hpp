// csrc/runtime/base/log.hpp - log lines on stderr, enabled by CUPOLA_LOG.
#pragma once

#include <cstdint>
#include <string>

namespace cupola {

enum class Log { off, info, debug };

// The level that CUPOLA_LOG sets; throws where its value is unknown.
Log log_level();

// Writes one line, "cupola: text".
void log(const std::string& text);

// An address or handle as "0x7f00".
std::string hex(std::uint64_t number);

}  // namespace cupola
