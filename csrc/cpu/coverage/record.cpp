// csrc/cpu/coverage/record.cpp - writes counts as text, and appends to the file under a lock.
#include "cpu/coverage/record.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cupola::cpu::coverage {
namespace {

constexpr const char* header = "cupola-coverage 1\n";

std::string escaped(const std::string& name) {
    std::string out;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte != '%' && byte != 0x7f) {
            out += c;
            continue;
        }
        char code[4];
        std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(byte));
        out += code;
    }
    return out;
}

std::string text_of(const Site& site) {
    return " " + std::to_string(site.scope) + ":" + std::to_string(site.file) + ":" +
           std::to_string(site.line);
}

std::uint32_t crc32(const std::string& text) {
    std::uint32_t crc = ~0u;
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
    }
    return ~crc;
}

bool write_all(int file, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::write(file, text.data() + at, text.size() - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        at += static_cast<std::size_t>(wrote);
    }
    return true;
}

// Whether the file is empty or begins with the header of this version.
bool is_ours(int file, bool& empty) {
    char found[32] = {};
    const ssize_t got = ::pread(file, found, std::strlen(header), 0);
    empty = got == 0;
    return empty || (got > 0 && std::strcmp(found, header) == 0);
}

}  // namespace

void Record::begin_module(const std::string& digest) { text_ += "module " + digest + "\n"; }

void Record::describe(const ModulePlan& plan) {
    for (const std::string& file : plan.lines.files()) text_ += "file " + escaped(file) + "\n";
    for (std::size_t n = 1; n < plan.lines.scopes().size(); ++n) {
        const ptx::LineTable::Scope& scope = plan.lines.scopes()[n];
        text_ += "scope " + std::to_string(scope.parent) + " " + std::to_string(scope.file) + " " +
                 std::to_string(scope.line) + "\n";
    }
    static constexpr const char* kinds[] = {"lines ", "branch ", "table "};
    for (const FunctionPlan& function : plan.functions) {
        text_ += std::string("function ") + (function.entry ? "entry " : "device ") +
                 escaped(function.name) + "\n";
        for (const Counter& counter : function.counters) {
            text_ += kinds[static_cast<unsigned>(counter.kind)] + std::to_string(counter.word);
            for (const Site& site : counter.sites) text_ += text_of(site);
            for (const Site& side : counter.sides) text_ += text_of(side);
            text_ += "\n";
        }
    }
}

void Record::add_counts(const std::string& context, const ModuleCounts::ByFunction& counts) {
    text_ += "context " + escaped(context) + "\n";
    for (const auto& [function, words] : counts) {
        text_ += "counts " + std::to_string(function);
        for (std::size_t n = 0; n < words.size(); ++n)
            if (words[n] != 0) text_ += " " + std::to_string(n) + ":" + std::to_string(words[n]);
        text_ += "\n";
    }
}

bool Record::append_to(const std::string& file, std::string& error) const {
    const auto failed = [&](const std::string& why) {
        error =
            "CUPOLA_CPU_COVERAGE is \"" + file + "\"; expected a file that can be written: " + why;
        return false;
    };
    const int at = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (at < 0) return failed(std::strerror(errno));
    struct Close {
        int file;
        ~Close() { ::close(file); }  // closing also unlocks the file
    } close{at};
    while (::flock(at, LOCK_EX) != 0)
        if (errno != EINTR) return failed(std::strerror(errno));
    bool empty = false;
    if (!is_ours(at, empty))
        return failed("it is not a coverage file of this version; remove it, or name another one");
    std::string text = empty ? header : "";
    if (!text_.empty()) {
        char line[64];
        std::snprintf(line, sizeof line, "record %zu %08x\n", text_.size(),
                      static_cast<unsigned>(crc32(text_)));
        text += line + text_;
    }
    return write_all(at, text) || failed(std::strerror(errno));
}

std::string absolute_path(const std::string& path) {
    if (!path.empty() && path[0] == '/') return path;
    char here[PATH_MAX];
    return ::getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
}

}  // namespace cupola::cpu::coverage
