// csrc/cpu/compiler/machine_code.hpp - kernels become machine code, in the background or at once.
#pragma once

#include <string>
#include <vector>

#include "cpu/execute.hpp"

namespace cupola::cpu::compiler {

enum class Mode {
    interpret,  // never
    ahead,      // where it was compiled when the program was built
    compile,    // before a kernel is first launched; the launch fails where that can't be
    automatic,  // in the background, beside launches that interpret the kernel
};

// So many compilers at once, at most.
void use_processors(int count);
// Takes machine code that was made of the kernel ahead of time; where it is `cached`, also what an
// earlier process compiled. Starts no process.
void take_made(const Kernel& kernel, bool cached);
// Has machine code of these kernels made, all in one piece, and waits for it. What can't be is
// noted with the kernel.
void make_now(const std::vector<const Kernel*>& kernels);
// Whether launches interpret it, as far as is known so far.
bool is_interpreted(const Kernel& kernel);
// The kernel was interpreted for so long. When that has come to enough, machine code is made in the
// background; blocks that begin later take it.
void took(const Kernel& kernel, std::uint64_t nanoseconds);
// `compiled`, "interpreted", or why there is no machine code.
inline constexpr const char* compiled = "compiled";
std::string state_of(const Kernel& kernel);
// The kernel's printed source: what a compiler is given behind the semantics.
std::string printed(const Kernel& kernel);
// Lines about what a process in this mode compiles, by which compiler, and where that is kept.
std::string description(Mode mode);
// No compiler is started from here on, and nobody waits for those under way. Those of the
// background continue, where the cache keeps what they make.
void stop();

}  // namespace cupola::cpu::compiler
