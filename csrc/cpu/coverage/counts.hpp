// csrc/cpu/coverage/counts.hpp - the counts of this process, and the file that receives them.
//
// A context is the name of what a program does, such as a test. Each launch counts for the context
// in which it was made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cpu/observe/observer.hpp"

namespace cupola::cpu::coverage {

// Modules that are loaded from now on are counted, into this file. False: `error` says why not.
bool start(const std::string& file, std::string& error);
// Appends the counts of launches that have ended. The counts of a failed write are lost.
bool write(std::string& error);
// Writes the counts, and stops counting.
bool stop(std::string& error);
bool is_on();
// Later launches count for this coverage context. The first context is "".
void switch_context(std::string_view name);
std::uint32_t context();

// Counts the modules that are decoded from now on, while counting is on.
observe::Observer& observer();

}  // namespace cupola::cpu::coverage
