// csrc/cpu/interpreter/levels.hpp - levels of the host's instruction set, by name.
#pragma once

#include <string_view>
#include <vector>

namespace cupola::cpu::interpreter {

// Names, as for -march, of the levels that this processor supports, best first. A host with one
// level only returns its name. Empty on an x86-64 processor older than x86-64-v2.
std::vector<const char*> levels();
// Limits handlers and machine code to a level. False: the build lacks it, or the processor does.
// Must be called before the first kernel is decoded.
bool use_level(std::string_view name);

}  // namespace cupola::cpu::interpreter
