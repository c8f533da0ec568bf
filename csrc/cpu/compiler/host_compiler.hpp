// csrc/cpu/compiler/host_compiler.hpp - the host's C++ compiler, as a separate process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cpu/emitter/tier.hpp"

namespace cupola::cpu::compiler {

struct Compiler {
    std::vector<std::string> command;  // the executable and its fixed arguments
    std::string file;                  // identifies the command: with size and time of its file
    std::string missing;               // why no command was found
    bool is_zig = false;               // links with another command

    // CXX if it is set; else c++, g++ or clang++ on PATH; else the executable that CUPOLA_CPU_ZIG
    // names, which is that of the Python package ziglang.
    static Compiler find();
    bool found() const { return !command.empty(); }
    // Runs the compiler. The file may be a wrapper, such as ccache, and stay the same when the
    // compiler changes.
    std::string version() const;
};

// The flags that compile emitted sources, the same as for the semantics. `level` is the value of
// -march, such as "x86-64-v3"; or empty, on a host that has only one level.
std::vector<std::string> flags(const std::string& level, Tier tier = Tier::full);
// The level of this device's own handlers.
std::string device_level();

// The files of a kernel's source (Source::text), which are compiled in parallel.
struct Sources {
    std::string level;      // as for flags()
    std::size_t count = 1;  // number of files
    std::string file;
    // A file that is included first, and that the compiler precompiles beside it (HEADER.gch);
    // empty: none.
    std::string header;
    Tier tier = Tier::full;
};

// Compiles the sources to a library, and waits. If it returns false, `why` has the reason. The
// compiler ends with the program.
bool compile(const Compiler& compiler, const Sources& sources, const std::string& library,
             std::string& why);

// A compilation that continues when the program ends (detached.hpp). `library` exists
// only when it is complete. All temporary files are removed.
struct DetachedJob {
    std::string output, library;  // `output` is renamed to `library`
    std::string lock_name;
    int lock = -1;     // held while its processes run
    int niceness = 0;  // lowers the priority of its processes
};
bool compile_detached(const Compiler& compiler, const Sources& sources, const DetachedJob& job,
                      std::string& why);

}  // namespace cupola::cpu::compiler
