// csrc/cpu/sanitizer/write_watch.hpp - names the thread that wrote some bytes last.
//
// A watched launch is interpreted, on one thread.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/observe/observer.hpp"

namespace cupola::cpu::sanitizer {

// Watches these bytes in the launches from now on, in place of others, and forgets the last write.
// No bytes: nothing is watched.
void watch_writes(std::uint64_t address, std::uint64_t bytes);

// The block, the thread and the source line of the last write; empty if there was none.
std::string last_write();

observe::Observer& write_watch();

}  // namespace cupola::cpu::sanitizer
