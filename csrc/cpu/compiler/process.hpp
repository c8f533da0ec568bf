// csrc/cpu/compiler/process.hpp - processes of compilers, without the program's files and signals.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cupola::cpu::compiler {

// Finds a command's file as a shell does, but only in absolute folders; "" if there is none.
std::string find_executable(const std::string& name);

// Moves a file descriptor above those of the standard files, which commands replace.
int move_above_stdio(int file);

// Starts a command. Returns 0 or the error number. `input` and `output` are descriptors above the
// standard ones, or -1. Standard error is the file `log`. No other file is inherited. The process
// has its own process group; if `detached`, its own session.
int start_process(std::vector<std::string> command, int input, int output, const std::string& log,
                  bool detached, pid_t& child);

// A command that makes a file, and is ended with this process. Its messages are in a log beside
// that file while it runs.
class Process {
  public:
    // `output`: descriptor of the file for its standard output.
    Process(std::vector<std::string> command, std::string product, int output = -1);
    // Waits for the process. If it returns false, `why` has the reason.
    bool succeeds(std::string& why);

  private:
    std::vector<std::string> command_;
    std::string product_;
    pid_t child_ = 0;
    int error_ = 0;  // the process was not started
};

// The standard output of a command, up to the length that a version needs; "" if it prints nothing.
std::string capture_output(std::vector<std::string> command);

// Removes a folder and its content, if it exists.
void remove_folder(const std::string& folder);

// Ends all processes and starts no more, because this process is about to end.
void stop_processes();

}  // namespace cupola::cpu::compiler
