// csrc/runtime/driver/stdio_redirect.cpp - lets descriptors 1 and 2 lead to files in memory.
#include "runtime/driver/stdio_redirect.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace cupola {
namespace {

struct Descriptor {
    int number, saved = -1, file = -1;

    bool open() {
        saved = dup(number);
        file = memfd_create("cupola output", MFD_CLOEXEC);
        if (saved >= 0 && file >= 0 && dup2(file, number) >= 0) return true;
        close();
        return false;
    }
    void close() {
        if (saved >= 0) ::close(saved);
        if (file >= 0) ::close(file);
        saved = file = -1;
    }
    std::string restore() {
        dup2(saved, number);
        std::string text;
        char part[4096];
        lseek(file, 0, SEEK_SET);
        for (ssize_t bytes; (bytes = read(file, part, sizeof part)) > 0;)
            text.append(part, static_cast<std::size_t>(bytes));
        close();
        return text;
    }
};

struct RedirectState {
    std::mutex mutex;
    int waiting = 0;
    Descriptor output{1}, standard_error{2};
    std::string assertion;
};

// Never destroyed: threads may synchronize while the process exits.
RedirectState& redirect_state() {
    static auto* const one = new RedirectState;
    return *one;
}

}  // namespace

bool StdioRedirect::begin() {
    RedirectState& s = redirect_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.waiting == 0) {
        std::fflush(stdout);
        std::fflush(stderr);
        if (!s.output.open()) return false;
        if (!s.standard_error.open()) {
            s.output.restore();
            return false;
        }
    }
    ++s.waiting;
    return true;
}

StdioRedirect::Text StdioRedirect::end() {
    RedirectState& s = redirect_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (--s.waiting > 0) return {};
    std::fflush(stdout);
    std::fflush(stderr);
    return {s.output.restore(), s.standard_error.restore()};
}

void StdioRedirect::set_assertion(const std::string& assertion) {
    RedirectState& s = redirect_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    s.assertion = assertion;
}

std::string StdioRedirect::assertion() {
    RedirectState& s = redirect_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    return s.assertion;
}

}  // namespace cupola
