// csrc/cpu/compiler/host_compiler.hpp - the host's C++ compiler, as a process of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupola::cpu::compiler {

struct Compiler {
    std::vector<std::string> command;  // and what always goes with it
    std::string file;                  // the command, with size and time of the compiler's file
    std::string missing;               // why there is no command
    bool is_zig = false;               // its linker is another command

    // CXX, and no other where it is set; else c++, g++ or clang++ on PATH; else the executable that
    // CUPOLA_CPU_ZIG names, which is the one of the Python package ziglang.
    static Compiler find();
    bool there() const { return !command.empty(); }
    // Runs it. Its file may be a wrapper (ccache), which stays when the compiler changes.
    std::string version() const;
};

// How sources become a library: the flags that semantics are built with. `level` is what -march
// takes, "x86-64-v3"; or empty, where a host has one form alone.
std::vector<std::string> flags(const std::string& level);
// That of this device's own handlers.
std::string own_level();

// Compiles a source to a library, as so many files (Source::text) at once. Waits for it, and says
// why where it fails. The compiler ends with the program.
bool compile(const Compiler& compiler, const std::string& level, std::size_t files,
             const std::string& source, const std::string& library, std::string& why);

// The same with compilers that continue when the program ends (detached.hpp). `library` exists
// only when it is complete; everything beside it is removed.
struct Detachable {
    std::string source, made;  // the latter is renamed
    std::string library;
    std::string lock_name;
    int lock = -1;        // held while a process of it runs
    bool yields = false;  // at low priority
};
bool compile_detached(const Compiler& compiler, const std::string& level, std::size_t files,
                      const Detachable& job, std::string& why);

}  // namespace cupola::cpu::compiler
