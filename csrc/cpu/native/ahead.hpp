// csrc/cpu/native/ahead.hpp - machine code that is made when a program is built, and found when it
// runs. A library has it for one level of the host's instruction set.
#pragma once

#include <string>
#include <vector>

#include "cpu/exec/native.hpp"
#include "cpu/execute.hpp"

namespace cupola::cpu::native {

// Compiles kernels to a library. Those which can't be, or would take a compiler long, are left
// out: `without` has a line for each. False: there is no library, and `without` says why.
bool make_ahead(const std::vector<const Kernel*>& kernels, const std::string& level,
                const std::string& library, std::string& without);

// Has code taken from STEM.LEVEL.so, where that is there: of the levels that this processor runs
// the best. Returns why a library that is there is not loaded, or nothing.
std::string add_ahead(const std::string& stem);
// Whether a library has code of a kernel of that name: else there is no need to print it.
bool is_ahead(const std::string& kernel);
// The code of it that was made of just this source, by these semantics; or nullptr.
exec::NativeRun find_ahead(const std::string& kernel, const std::string& source);

}  // namespace cupola::cpu::native
