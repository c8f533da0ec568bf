// csrc/cpu/exec/levels.hpp - levels of the host's instruction set, by name.
#pragma once

#include <string_view>
#include <vector>

namespace cupola::cpu::exec {

// Levels that code may be compiled for which this processor runs, as -march calls them, the best
// first; where a host has one form alone, its name.
std::vector<const char*> levels();
// Nothing above that level from now on; whether the build has it and the processor runs it. Called
// before anything is decoded.
bool use_level(std::string_view name);

}  // namespace cupola::cpu::exec
