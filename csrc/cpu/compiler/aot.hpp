// csrc/cpu/compiler/aot.hpp - machine code that is compiled when a program is built.
//
// A library has the code for one level of the host's instruction set.
#pragma once

#include <string>
#include <vector>

#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/machine_code.hpp"

namespace cupola::cpu::compiler {

// Compiles kernels into a library. Kernels that cannot be compiled, or whose compilation would take
// long, are left out: `without` has a line for each of them. If the function returns false, no
// library was made, and `without` has the reason.
bool make_aot(const std::vector<const Kernel*>& kernels, const std::string& level,
              const std::string& library, std::string& without);

// Adds the library STEM.LEVEL.so of the best level that exists and that this processor runs.
// Returns the reason if a library exists but is not loaded, otherwise "".
std::string add_aot(const std::string& stem);
// Whether a library has code of a kernel of that name. If not, its source need not be emitted.
bool has_aot(const std::string& kernel);
// The code that was compiled from this source with these semantics; or nullptr.
interpreter::MachineCodeRun find_aot(const std::string& kernel, const std::string& source);

}  // namespace cupola::cpu::compiler
