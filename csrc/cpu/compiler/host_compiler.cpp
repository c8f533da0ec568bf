// csrc/cpu/compiler/host_compiler.cpp - finds the host's compiler, and runs it.
#include "cpu/compiler/host_compiler.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "cpu/compiler/detached.hpp"
#include "cpu/compiler/process.hpp"
#include "cpu/interpreter/host_isa.hpp"

namespace cupola::cpu::compiler {

Compiler Compiler::find() {
    std::vector<std::vector<std::string>> candidates;
    Compiler found;
    found.missing =
        "there is no C++ compiler: none of CXX, c++, g++ and clang++; install one, or the package "
        "ziglang with: pip install 'cupola[jit]'";
    if (const char* named = std::getenv("CXX"); named && *named) {
        std::istringstream words{std::string(named)};
        std::vector<std::string> command;
        for (std::string word; words >> word;) command.push_back(word);
        if (!command.empty()) {
            candidates.push_back(command);
            found.missing = std::string("there is no C++ compiler CXX=") + named;
        }
    }
    if (candidates.empty()) {
        for (const char* name : {"c++", "g++", "clang++"}) candidates.push_back({name});
        if (const char* zig = std::getenv("CUPOLA_CPU_ZIG"); zig && zig[0] == '/')
            candidates.push_back({zig, "c++"});
    }
    for (auto& command : candidates) {
        const std::string file = find_executable(command[0]);
        struct stat about;
        if (file.empty() || stat(file.c_str(), &about) != 0) continue;
        command[0] = file;
        found.command = command;
        found.is_zig =
            command.size() > 1 && command[1] == "c++" && file.substr(file.rfind('/') + 1) == "zig";
        for (const auto& word : command) found.file += word + " ";
        found.file += std::to_string(about.st_size) + " " + std::to_string(about.st_mtime);
        break;
    }
    return found;
}

std::string Compiler::version() const {
    if (is_zig) return "zig " + capture_output({command[0], "version"});
    std::vector<std::string> words = command;
    words.emplace_back("--version");
    return capture_output(words);
}

std::vector<std::string> flags(const std::string& level, Tier tier) {
    // The same flags as csrc/recipe.py's, which the interpreter was built with.
    std::vector<std::string> all = {"-std=c++17",
                                    tier == Tier::quick ? "-O1" : "-O3",
                                    "-DNDEBUG",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fPIC",
                                    "-fvisibility=hidden",
                                    "-w",
                                    "-DCUPOLA_ISA=native_code"};
    // The compiler's constant folding is more exact than the library's functions, so it would
    // change results.
    for (const char* function : {"sin", "cos", "exp2", "log2", "tanh"})
        for (const char* width : {"", "f"})
            all.push_back(std::string("-fno-builtin-") + function + width);
    // Lanes are written as one type and read as another type of the same size.
    all.push_back("-fno-strict-aliasing");
    // The alignment of a loop can change its time by a seventh.
    for (const char* word : {"-falign-functions=64", "-falign-loops=32"}) all.push_back(word);
    if (!level.empty()) all.push_back("-march=" + level);
    if (level == "x86-64-v4") all.push_back("-mprefer-vector-width=512");
    return all;
}

std::string device_level() {
    // csrc/recipe.py names the levels: x86_64_v4 for -march=x86-64-v4.
    std::string level = interpreter::isa().name;
    if (level.compare(0, 7, "x86_64_") != 0) return "";
    for (char& c : level) c = c == '_' ? '-' : c;
    return level;
}

namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// The commands that compile a source to a library: one file directly, several through objects.
struct Commands {
    Words precompile;    // the header; empty: no header, or a precompiled one
    std::string header;  // the product of that command, under a temporary name
    std::vector<Words> compile;
    Words objects;
    Words link;
    std::string folder;  // a temporary folder to remove; empty: no folder
};

std::string precompiled(const Sources& sources) { return sources.header + ".gch"; }

// A damaged file could be why the compiler failed. Without the file the compiler reads the header.
void forget_precompiled(const Sources& sources) {
    if (!sources.header.empty()) unlink(precompiled(sources).c_str());
}

std::string file_of(const void* function) {
    Dl_info about;
    return dladdr(function, &about) != 0 && about.dli_fname ? about.dli_fname : "";
}

// Libraries that kernels use. The program may have loaded them only for the device.
Words runtime_libraries() {
    float (*const math)(float) = &::cosf;
    void* (*const memory)(void*, const void*, std::size_t) = &::memmove;
    Words all;
    for (std::string file : {file_of(reinterpret_cast<const void*>(math)),
                             file_of(reinterpret_cast<const void*>(memory))})
        if (!file.empty()) all.push_back(std::move(file));
    return all;
}

// zig has its own names of processors, and a cache of its own without a bound. As a linker driver
// it would first compile libraries for minutes, which kernels do not need.
Commands commands_of_zig(const Compiler& compiler, const Sources& sources,
                         const std::string& library) {
    const std::string& level = sources.level;
    Commands all;
    all.folder = library + ".zig";
    Words command = {"/usr/bin/env", "ZIG_LOCAL_CACHE_DIR=" + all.folder,
                     "ZIG_GLOBAL_CACHE_DIR=" + all.folder};
    command = command + compiler.command + flags(level, sources.tier) + Words{"-g0"};
    if (level.empty()) command.push_back("-mcpu=baseline");
#if defined(__aarch64__)
    // Clang would call a library for atomic operations, which this link does not have.
    command.emplace_back("-mno-outline-atomics");
#endif
    for (std::string& word : command)
        if (word == "-march=" + level) std::replace(word.begin() + 1, word.end(), '-', '_');
    for (std::size_t n = 0; n < sources.count; ++n) {
        all.objects.push_back(library + "." + std::to_string(n) + ".o");
        all.compile.push_back(command);
        if (sources.count > 1) all.compile[n].push_back("-DCUPOLA_FILE=" + std::to_string(n));
        all.compile[n] =
            all.compile[n] + Words{"-x", "c++", "-c", "-o", all.objects[n], sources.file};
    }
    all.link = Words{compiler.command[0], "ld.lld", "-shared", "--eh-frame-hdr", "-o", library} +
               all.objects + runtime_libraries();
    return all;
}

Commands commands_of(const Compiler& compiler, const Sources& sources, const std::string& library) {
    if (compiler.is_zig) return commands_of_zig(compiler, sources, library);
    const Words plain = compiler.command + flags(sources.level, sources.tier);
    Words command = plain;
    Commands all;
    if (!sources.header.empty()) {
        if (access(precompiled(sources).c_str(), R_OK) != 0) {
            all.header = library + ".gch";
            // The header is the same for both tiers: g++ accepts it at each -O.
            all.precompile = compiler.command + flags(sources.level) +
                             Words{"-x", "c++-header", "-o", all.header, sources.header};
        }
        // Without the precompiled file the compiler reads the header itself.
        command = plain + Words{"-include", sources.header};
    }
    if (sources.count == 1) {
        all.link = command + Words{"-shared", "-x", "c++", "-o", library, sources.file, "-lm"};
        return all;
    }
    for (std::size_t n = 0; n < sources.count; ++n) {
        all.objects.push_back(library + "." + std::to_string(n) + ".o");
        all.compile.push_back(command + Words{"-DCUPOLA_FILE=" + std::to_string(n), "-x", "c++",
                                              "-c", "-o", all.objects[n], sources.file});
    }
    all.link = plain + Words{"-shared", "-o", library} + all.objects + Words{"-lm"};
    return all;
}

// Whether the commands read a precompiled header that an earlier compilation left.
bool reads_precompiled(const Commands& all, const Sources& sources) {
    return !sources.header.empty() && all.precompile.empty();
}

bool run(const Commands& all, const std::string& library, std::string& why) {
    std::vector<Process> compilers;
    compilers.reserve(all.compile.size());
    for (std::size_t n = 0; n < all.compile.size(); ++n)
        compilers.emplace_back(all.compile[n], all.objects[n]);
    bool done = true;
    for (Process& each : compilers) {
        std::string objection;
        if (each.succeeds(objection)) continue;
        if (done) why = objection;
        done = false;
    }
    return done && Process(all.link, library).succeeds(why);
}

}  // namespace

bool compile(const Compiler& compiler, const Sources& sources, const std::string& library,
             std::string& why) {
    const Commands all = commands_of(compiler, sources, library);
    std::string ignored;
    if (!all.precompile.empty() && Process(all.precompile, all.header).succeeds(ignored) &&
        (chmod(all.header.c_str(), 0600) != 0 ||
         rename(all.header.c_str(), precompiled(sources).c_str()) != 0))
        unlink(all.header.c_str());
    bool done = run(all, library, why);
    if (!done) {
        forget_precompiled(sources);
        if (reads_precompiled(all, sources)) {
            why.clear();
            done = run(all, library, why);
        }
    }
    for (const auto& object : all.objects) unlink(object.c_str());
    if (!all.folder.empty()) remove_folder(all.folder);
    return done;
}

bool compile_detached(const Compiler& compiler, const Sources& sources, const DetachedJob& job,
                      std::string& why) {
    const Commands all = commands_of(compiler, sources, job.output);
    std::string first, script;
    if (job.niceness != 0) {
        const std::string number = std::to_string(job.niceness);
        if (const std::string nice = find_executable("nice"); !nice.empty())
            first = quoted(nice) + " -n " + number + " ";
        // Where Linux groups processes by session, the niceness of the session counts.
        script = "{ echo " + number + " >/proc/self/autogroup; } 2>/dev/null; ";
    }
    const std::string log = job.output + ".log", to_log = " 2>>" + quoted(log) + " >/dev/null";
    if (!all.precompile.empty())
        script += first + quoted(all.precompile) + " && command -p mv -f " +
                  quoted(Words{all.header, precompiled(sources)}) + "; ";
    script += "run() { code=0; files=; ";
    for (const Words& each : all.compile)
        script += first + quoted(each) + to_log + " & files=\"$files $!\"; ";
    script += "for file in $files; do wait $file || code=1; done; test $code = 0 && " + first +
              quoted(all.link) + to_log + " && command -p mv -f " +
              quoted(Words{job.output, job.library}) + " || code=1; test $code = 0; }; run";
    if (reads_precompiled(all, sources))
        script += " || { command -p rm -f " + quoted(Words{precompiled(sources)}) + "; run; }";
    Words temporaries = Words{job.output, log, job.lock_name} + all.objects;
    if (!all.folder.empty()) temporaries.push_back(all.folder);
    if (!all.header.empty()) temporaries.push_back(all.header);
    // Removed last: this file reserves the names of the other files until then.
    temporaries.push_back(sources.file);
    if (run_detached(script, log, temporaries, job.lock, why)) return true;
    forget_precompiled(sources);
    why = compiler.command[0] + (why.empty() ? " was ended" : " failed: " + why);
    return false;
}

}  // namespace cupola::cpu::compiler
