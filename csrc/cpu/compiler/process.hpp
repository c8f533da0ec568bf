// csrc/cpu/compiler/process.hpp - compilers' processes, with none of the program's files and
// signals.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cupola::cpu::compiler {

// Of a command by its file's name, "" where there is none: as a shell finds it, but in folders with
// full names alone.
std::string on_path(const std::string& name);

// The same file under a number above those of the standard files, which are replaced for commands.
int above_standard(int file);

// Starts a command; 0, or the number of the error. Its standard input and output are these files,
// of numbers above_standard() or none, its standard error is the file named `log`, and it inherits
// no other file. It has a process group of its own; where it is `detached`, a session.
int start_process(std::vector<std::string> command, int input, int output, const std::string& log,
                  bool detached, pid_t& child);

// A command that makes a file, and ends with this process. What it says goes to a log beside that
// file, while it lasts.
class Process {
  public:
    // `output`: a file for what it prints.
    Process(std::vector<std::string> command, std::string product, int output = -1);
    // Waits for it. Otherwise than well: why.
    bool ended_well(std::string& why);

  private:
    std::vector<std::string> command_;
    std::string product_;
    pid_t child_ = 0;
    int error_ = 0;  // it never began
};

// What a command prints, at most so much of it as a version takes; "" where it prints nothing.
std::string output_of(std::vector<std::string> command);

// With all that is in it; nothing where it is not there.
void remove_folder(const std::string& folder);

// Ends all of them, and begins no other: this process is about to end.
void stop_processes();

}  // namespace cupola::cpu::compiler
