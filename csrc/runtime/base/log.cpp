// csrc/runtime/base/log.cpp - reads CUPOLA_LOG and writes log lines.
#include "runtime/base/log.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/base/error.hpp"

namespace cupola {

Log log_level() {
    const char* variable = std::getenv("CUPOLA_LOG");
    const std::string level = variable ? variable : "";
    if (level.empty() || level == "off") return Log::off;
    if (level == "info") return Log::info;
    if (level == "debug") return Log::debug;
    fail(CUPOLA_ERROR_VALUE, "CUPOLA_LOG is \"" + level +
                                 "\"; expected off, info (driver, images) or debug (also "
                                 "launches, graphs, memory, copies)");
}

void log(const std::string& text) {
    const std::string line = "cupola: " + text + "\n";
    // One write keeps lines of several threads and processes whole. A failed write is ignored.
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

std::string hex(std::uint64_t number) {
    char text[20];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
    return text;
}

}  // namespace cupola
