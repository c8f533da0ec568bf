// csrc/cpu/native/process.hpp - a compiler's process, which ends with this one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cupola::cpu::native {

// Of a command by its file's name, "" where there is none: as a shell finds it, but in folders with
// full names alone.
std::string on_path(const std::string& name);

// A command that makes a file. What it says goes to a log beside that file, while it lasts.
class Process {
  public:
    Process(std::vector<std::string> command, std::string product);
    // Waits for it. Otherwise than well: why.
    bool ended_well(std::string& why);

  private:
    std::vector<std::string> command_;
    std::string product_;
    pid_t child_ = 0;
    int error_ = 0;  // it never began
};

// Ends all of them, and begins no other: this process is about to end.
void stop_processes();

}  // namespace cupola::cpu::native
