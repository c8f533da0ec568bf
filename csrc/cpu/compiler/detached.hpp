// csrc/cpu/compiler/detached.hpp - compilers that continue when the program ends.
//
// A shell runs them in a session of its own. It has none of the program's files, so what waits for
// the end of the program's output does not wait for it. It is no child of the program either, so a
// program that waits for all its children does not wait for it, and none is left behind as a
// zombie.
#pragma once

#include <string>
#include <vector>

namespace cupola::cpu::compiler {

// As one word of a shell's command, or several.
std::string quoted(const std::string& word);
std::string quoted(const std::vector<std::string>& words);

// Runs a script that leaves 0 in `code` where it succeeds; then the shell removes `beside` and
// reports how it ended. Waits for it. False where it failed: `why` is how `log` begins, or nothing
// where the script was killed. `lock`, a file
// above_standard() or -1, is closed here, and stays open as long as a process of the script runs.
bool run_detached(const std::string& script, const std::string& log,
                  const std::vector<std::string>& beside, int lock, std::string& why);

// Ends those under way: nobody can use their results.
void stop_detached();

}  // namespace cupola::cpu::compiler
