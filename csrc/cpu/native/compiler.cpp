// csrc/cpu/native/compiler.cpp - finding the host's compiler, and running it.
#include "cpu/native/compiler.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "cpu/exec/isa.hpp"

extern char** environ;

namespace cupola::cpu::native {
namespace {

// Compilers that run. Never destroyed: threads that compile go on while the process ends.
struct UnderWay {
    std::mutex mutex;
    std::set<pid_t> children;
    bool stopped = false;
};
UnderWay& under_way() {
    static auto* one = new UnderWay;
    return *one;
}

std::string on_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (folder.empty() || folder[0] != '/') continue;  // not what lies in some current folder
        const std::string file = folder + "/" + name;
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

std::string beginning_of(const std::string& file) {
    std::ifstream in(file);
    std::string text(2000, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

// The program's files are none of the compiler's affair, whatever their flags say. Closing one that
// was closed meanwhile is no error.
void close_others(posix_spawn_file_actions_t& files) {
    DIR* open = opendir("/proc/self/fd");
    if (!open) return;
    while (const dirent* entry = readdir(open))
        if (const int file = std::atoi(entry->d_name); file > STDERR_FILENO)
            posix_spawn_file_actions_addclose(&files, file);
    closedir(open);
}

// Whether a child ended well. Programs that ignore SIGCHLD, or wait for whatever child there is,
// leave no status: then what it made tells, which compilers remove where they fail.
bool ended_well(pid_t child, const std::string& library) {
    siginfo_t about;
    int failed;
    // First without taking it away: until then its number is nobody else's, and may be killed.
    do failed = waitid(P_PID, static_cast<id_t>(child), &about, WEXITED | WNOWAIT);
    while (failed != 0 && errno == EINTR);
    UnderWay& all = under_way();
    std::lock_guard lock(all.mutex);
    all.children.erase(child);
    int status = 0;
    pid_t ended;
    do ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    struct stat made;
    return errno == ECHILD && stat(library.c_str(), &made) == 0 && made.st_size > 0;
}

}  // namespace

Compiler Compiler::find() {
    std::vector<std::vector<std::string>> candidates;
    Compiler found;
    found.missing = "there is no C++ compiler: none of CXX, c++, g++ and clang++";
    if (const char* named = std::getenv("CXX"); named && *named) {
        std::istringstream words{std::string(named)};
        std::vector<std::string> command;
        for (std::string word; words >> word;) command.push_back(word);
        if (!command.empty()) {
            candidates.push_back(command);
            found.missing = std::string("there is no C++ compiler CXX=") + named;
        }
    }
    if (candidates.empty())
        for (const char* name : {"c++", "g++", "clang++"}) candidates.push_back({name});
    for (auto& command : candidates) {
        const std::string file = on_path(command[0]);
        struct stat about;
        if (file.empty() || stat(file.c_str(), &about) != 0) continue;
        command[0] = file;
        found.command = command;
        for (const auto& word : command) found.identity += word + " ";
        found.identity += std::to_string(about.st_size) + " " + std::to_string(about.st_mtime);
        break;
    }
    return found;
}

std::vector<std::string> flags(const std::string& level) {
    // As csrc/recipe.py's, by which the interpreter was built.
    std::vector<std::string> all = {"-std=c++17",
                                    "-O3",
                                    "-DNDEBUG",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fPIC",
                                    "-shared",
                                    "-fvisibility=hidden",
                                    "-w",
                                    "-DCUPOLA_ISA=native_code"};
    // What a compiler knows of these for constants is more exact than what the library computes.
    for (const char* function : {"sin", "cos", "exp2", "log2", "tanh"})
        for (const char* width : {"", "f"})
            all.push_back(std::string("-fno-builtin-") + function + width);
    // Lanes are written as one type and read as another of their size.
    all.push_back("-fno-strict-aliasing");
    // Where a loop happens to begin is worth a seventh of its time.
    for (const char* word : {"-falign-functions=64", "-falign-loops=32"}) all.push_back(word);
    if (!level.empty()) all.push_back("-march=" + level);
    if (level == "x86-64-v4") all.push_back("-mprefer-vector-width=512");
    return all;
}

std::string own_level() {
    // As csrc/recipe.py names the levels: x86_64_v4 for -march=x86-64-v4.
    std::string level = exec::isa().name;
    if (level.compare(0, 7, "x86_64_") != 0) return "";
    for (char& c : level) c = c == '_' ? '-' : c;
    return level;
}

bool compile(const Compiler& compiler, const std::string& level, const std::string& source,
             const std::string& library, bool slowly, std::string& why) {
    std::vector<std::string> words = compiler.command;
    for (const auto& flag : flags(level)) words.push_back(flag);
    for (const char* word : {"-x", "c++", "-o"}) words.push_back(word);
    words.push_back(library);
    words.push_back(source);
    words.push_back("-lm");
    if (slowly)
        if (const std::string nice = on_path("nice"); !nice.empty())
            words.insert(words.begin(), {nice, "-n", "19"});
    std::vector<char*> arguments, environment;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // A library that was preloaded for the program is none of the compiler's affair.
    for (char** each = environ; *each; ++each)
        if (std::strncmp(*each, "LD_PRELOAD=", 11) != 0) environment.push_back(*each);
    environment.push_back(nullptr);

    const std::string log = library + ".log";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    close_others(files);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int each : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP}) sigaddset(&usual, each);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // In a process group of its own: what the terminal interrupts is the program.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    int error = ECANCELED;  // the process ends
    {
        UnderWay& all = under_way();
        std::lock_guard lock(all.mutex);
        if (!all.stopped)
            error = posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(),
                                environment.data());
        if (error == 0) all.children.insert(child);
    }
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        why = words[0] + " can't be started: " + std::strerror(error);
        return false;
    }
    const bool done = ended_well(child, library);
    if (!done) why = compiler.command[0] + " failed: " + beginning_of(log);
    unlink(log.c_str());
    return done;
}

void stop_compiling() {
    UnderWay& all = under_way();
    std::lock_guard lock(all.mutex);
    all.stopped = true;
    for (const pid_t child : all.children) kill(-child, SIGTERM);
}

}  // namespace cupola::cpu::native
