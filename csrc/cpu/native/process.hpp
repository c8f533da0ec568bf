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

// Ends all of them, and begins no other: this process is about to end.
void stop_processes();

}  // namespace cupola::cpu::native
