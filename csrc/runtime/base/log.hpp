// csrc/runtime/base/log.hpp - what CUPOLA_LOG asks for: lines on stderr that say what cupola does.
#pragma once

#include <cstdint>
#include <string>

namespace cupola {

enum class Log { off, info, debug };

// What the environment's CUPOLA_LOG says; throws where it says nothing known.
Log log_level();

// One line: "cupola: text".
void log(const std::string& text);

// "0x7f00", of an address or a handle.
std::string hex(std::uint64_t number);

}  // namespace cupola
