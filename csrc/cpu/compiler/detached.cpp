// csrc/cpu/compiler/detached.cpp - a shell that runs compilers and reports through a pipe.
#include "cpu/compiler/detached.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "cpu/compiler/process.hpp"

namespace cupola::cpu::compiler {
namespace {

// The last byte of a report. The end of the pipe is no reliable signal: a process that was forked
// meanwhile may hold the pipe open.
constexpr char succeeded = '\1', failed = '\2';
constexpr std::size_t max_of_log = 2000;

// Process groups of running shells. Never destroyed: threads outlive static objects.
struct ProcessGroups {
    std::mutex mutex;
    std::set<pid_t> leaders;
};
ProcessGroups& process_groups() {
    static auto* one = new ProcessGroups;
    return *one;
}

// The first shell starts a second one and ends, so the second is no child of the program. `command
// -p` finds the system's commands whatever PATH is.
std::string full_script(const std::string& script, const std::string& log,
                        const std::vector<std::string>& temporaries) {
    return "exec 3>&1 4<&0 >/dev/null 2>&1 </dev/null; umask 077; { " + script + "; exec 5<" +
           quoted(log) + "; command -p rm -rf " + quoted(temporaries) +
           "; if test $code = 0; then printf '\\001' >&3; "
           "else command -p cat <&5 >&3; printf '\\002' >&3; fi; } &";
}

void reap(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) > 0 || errno == EINTR) {
    }
}

// Reads up to the byte that ends a report, or to the end of the pipe if the script was killed.
std::string report_from(int file) {
    std::string text;
    char chunk[512];
    for (;;) {
        const ssize_t got = read(file, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(chunk, static_cast<std::size_t>(got));
        if (text.back() == succeeded || text.back() == failed) return text;
        // A compiler may print much; keep only the begin.
        if (text.size() > 2 * max_of_log) text.resize(max_of_log);
    }
}

}  // namespace

std::string quoted(const std::string& word) {
    std::string all = "'";
    for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

std::string quoted(const std::vector<std::string>& words) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : " ") + quoted(word);
    return all;
}

bool run_detached(const std::string& script, const std::string& log,
                  const std::vector<std::string>& temporaries, int lock, std::string& why) {
    int ends[2];
    pid_t shell = 0;
    std::string report;
    int error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    if (error == 0) {
        for (int& end : ends) end = move_above_stdio(end);
        ProcessGroups& all = process_groups();
        {
            std::lock_guard guard(all.mutex);
            error = start_process({"/bin/sh", "-c", full_script(script, log, temporaries)}, lock,
                                  ends[1], "/dev/null", true, shell);
            if (error == 0) all.leaders.insert(shell);
        }
        close(ends[1]);
        if (lock >= 0) close(lock);
        if (error == 0) {
            reap(shell);
            report = report_from(ends[0]);
            // This process may be the parent of orphans, as the first process of a container is.
            reap(-shell);
            std::lock_guard guard(all.mutex);
            all.leaders.erase(shell);
        }
        close(ends[0]);
    } else if (lock >= 0) {
        close(lock);
    }
    const char last = report.empty() ? '\0' : report.back();
    if (last == succeeded) return true;
    if (last == failed) {
        report.pop_back();
        why = report.substr(0, max_of_log);
        if (why.empty()) why = "it printed no message";
        return false;
    }
    for (const auto& file : temporaries)
        if (unlink(file.c_str()) != 0) remove_folder(file);
    why = error != 0 ? std::string("/bin/sh cannot be started: ") + std::strerror(error) : "";
    return false;
}

void stop_detached() {
    ProcessGroups& all = process_groups();
    std::lock_guard guard(all.mutex);
    for (const pid_t leader : all.leaders) kill(-leader, SIGTERM);
}

}  // namespace cupola::cpu::compiler
