// csrc/cpu/compiler/aot.hpp - machine code that is made when a program is built, and found when it
// runs. A library has it for one level of the host's instruction set.
#pragma once

#include <string>
#include <vector>

#include "cpu/execute.hpp"
#include "cpu/interpreter/machine_code.hpp"

namespace cupola::cpu::compiler {

// Compiles kernels to a library. Those which can't be, or would take a compiler long, are left
// out: `without` has a line for each. False: there is no library, and `without` says why.
bool make_aot(const std::vector<const Kernel*>& kernels, const std::string& level,
              const std::string& library, std::string& without);

// Has code taken from STEM.LEVEL.so, where that is there: of the levels that this processor runs
// the best. Returns why a library that is there is not loaded, or nothing.
std::string add_aot(const std::string& stem);
// Whether a library has code of a kernel of that name: else there is no need to print it.
bool is_ahead(const std::string& kernel);
// The code of it that was made of just this source, by these semantics; or nullptr.
interpreter::MachineCodeRun find_ahead(const std::string& kernel, const std::string& source);

}  // namespace cupola::cpu::compiler
