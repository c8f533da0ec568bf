// csrc/cpu/compiler/detached.hpp - compilers that continue when the program ends.
//
// A shell runs them in a session of its own. It holds no file of the program, so a reader of the
// program's output sees its end at once. It is no child of the program, so a program that waits for
// all its children does not wait for it, and it leaves no zombie.
#pragma once

#include <string>
#include <vector>

namespace cupola::cpu::compiler {

// Quotes a word, or several, for a shell.
std::string quoted(const std::string& word);
std::string quoted(const std::vector<std::string>& words);

// Runs a script, and waits for it. The script sets `code` to 0 if it succeeds. Then the shell
// removes `temporaries` and reports the result. If the function returns false, `why` is the begin
// of `log`, or empty if the script was killed. `lock` is a file descriptor above the standard ones,
// or -1. The function closes `lock`, which stays open in the processes of the script.
bool run_detached(const std::string& script, const std::string& log,
                  const std::vector<std::string>& temporaries, int lock, std::string& why);

// Ends the running scripts, because no process can use their results.
void stop_detached();

}  // namespace cupola::cpu::compiler
