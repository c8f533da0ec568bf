// csrc/cpu/compiler/process.cpp - starts compilers, and waits for them.
#include "cpu/compiler/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
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

extern char** environ;

namespace cupola::cpu::compiler {
namespace {

// Running compilers. Never destroyed: threads that compile continue while the process ends.
struct RunningProcesses {
    std::mutex mutex;
    std::set<pid_t> children;
    bool stopped = false;
};
RunningProcesses& running_processes() {
    static auto* one = new RunningProcesses;
    return *one;
}

std::string log_of(const std::string& product) {
    return product.empty() ? "/dev/null" : product + ".log";
}

std::string head_of(const std::string& file) {
    std::ifstream in(file);
    std::string text(2000, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

// Closes all other files of the program, even inheritable ones. A file that another thread closes
// meanwhile causes no error.
void close_others(posix_spawn_file_actions_t& files) {
    DIR* open = opendir("/proc/self/fd");
    if (!open) return;
    while (const dirent* entry = readdir(open))
        if (const int file = std::atoi(entry->d_name); file > STDERR_FILENO)
            posix_spawn_file_actions_addclose(&files, file);
    closedir(open);
}

// Whether a child succeeded. A program that ignores SIGCHLD or waits for any child leaves no
// status. The product then decides, because compilers remove it when they fail.
bool child_succeeds(pid_t child, const std::string& product) {
    siginfo_t about;
    int failed;
    // First waits without reaping: until then the process id is not reused, and can be killed.
    do failed = waitid(P_PID, static_cast<id_t>(child), &about, WEXITED | WNOWAIT);
    while (failed != 0 && errno == EINTR);
    RunningProcesses& all = running_processes();
    std::lock_guard lock(all.mutex);
    all.children.erase(child);
    int status = 0;
    pid_t ended;
    do ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    struct stat made;
    return errno == ECHILD && stat(product.c_str(), &made) == 0 && made.st_size > 0;
}

}  // namespace

std::string find_executable(const std::string& name) {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        // The path is relative to the current folder.
        if (folder.empty() || folder[0] != '/') continue;
        const std::string file = folder + "/" + name;
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

int move_above_stdio(int file) {
    if (file < 0 || file > STDERR_FILENO) return file;
    const int other = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return other;
}

int start_process(std::vector<std::string> command, int input, int output, const std::string& log,
                  bool detached, pid_t& child) {
    std::vector<char*> arguments, environment;
    for (auto& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // A library that was preloaded into the program is not preloaded into the compiler.
    for (char** each = environ; *each; ++each)
        if (std::strncmp(*each, "LD_PRELOAD=", 11) != 0) environment.push_back(*each);
    environment.push_back(nullptr);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&files, input, 0);
    else
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&files, output, 1);
    else
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
    // A process group of the compiler: an interrupt from the terminal is for the program alone.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        (detached ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP)));
    const int error = posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(),
                                  environment.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

Process::Process(std::vector<std::string> command, std::string product, int output)
    : command_(std::move(command)), product_(std::move(product)) {
    error_ = ECANCELED;  // the process is ending
    RunningProcesses& all = running_processes();
    std::lock_guard lock(all.mutex);
    if (!all.stopped) error_ = start_process(command_, -1, output, log_of(product_), false, child_);
    if (error_ == 0) all.children.insert(child_);
}

bool Process::succeeds(std::string& why) {
    if (error_ != 0) {
        why = command_[0] + " cannot be started: " + std::strerror(error_);
        return false;
    }
    const bool done = child_succeeds(child_, product_);
    if (!done) why = command_[0] + " failed: " + head_of(log_of(product_));
    if (!product_.empty()) unlink(log_of(product_).c_str());
    return done;
}

std::string capture_output(std::vector<std::string> command) {
    const int file = move_above_stdio(memfd_create("cupola", MFD_CLOEXEC));
    if (file < 0) return "";
    std::string text(4000, '\0'), why;
    Process(std::move(command), "", file).succeeds(why);
    const ssize_t size = pread(file, text.data(), text.size(), 0);
    close(file);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
}

void remove_folder(const std::string& folder) {
    struct stat about;
    if (lstat(folder.c_str(), &about) == 0)
        capture_output({"/bin/sh", "-c", "command -p rm -rf \"$0\"", folder});
}

void stop_processes() {
    RunningProcesses& all = running_processes();
    std::lock_guard lock(all.mutex);
    all.stopped = true;
    for (const pid_t child : all.children) kill(-child, SIGTERM);
}

}  // namespace cupola::cpu::compiler
