// csrc/cpu/native/cache.cpp - where compiled kernels are kept.
#include "cpu/native/cache.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <vector>

#include "cpu/native/sha256.hpp"

namespace cupola::cpu::native {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;
constexpr std::time_t stale = 3600;  // seconds after which what a writer left behind is removed
constexpr std::size_t hash_digits = 64;

// This user's, and not to be written by anybody else.
bool is_own(const struct stat& about) {
    return about.st_uid == geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// This user's, root's, or whose the root folder is: in a container that may be somebody else.
bool is_trusted(const struct stat& about, const struct stat& root) {
    return about.st_uid == geteuid() || about.st_uid == 0 || about.st_uid == root.st_uid;
}

// Whoever may rename in a folder above a real path decides about what is there, too: those are to
// be trusted, and what others may write has to be sticky.
std::string objection_above(const std::string& path) {
    struct stat about, root;
    if (lstat("/", &root) != 0) return std::string("/: ") + std::strerror(errno);
    for (std::size_t at = path.size(); (at = path.rfind('/', at - 1)) != std::string::npos;) {
        const std::string above = at == 0 ? "/" : path.substr(0, at);
        if (lstat(above.c_str(), &about) != 0) return above + ": " + std::strerror(errno);
        const bool open = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (!is_trusted(about, root) || (open && (about.st_mode & S_ISVTX) == 0))
            return "other users can replace files in " + above;
        if (at == 0) break;
    }
    return "";
}

// Why a real path is no folder that this user alone decides about; empty where it is.
std::string objection_to(const std::string& folder) {
    struct stat about;
    if (lstat(folder.c_str(), &about) != 0) return folder + ": " + std::strerror(errno);
    if (!S_ISDIR(about.st_mode)) return folder + " is not a folder";
    if (!is_own(about))
        return folder + " must belong to this user and must not be writable by others";
    if (access(folder.c_str(), W_OK) != 0) return folder + " is not writable";
    return objection_above(folder);
}

}  // namespace

std::string real_path(const std::string& folder) {
    std::unique_ptr<char, decltype(&std::free)> real(realpath(folder.c_str(), nullptr), &std::free);
    return real ? real.get() : folder;
}

namespace {

void make_folders(const std::string& folder) {
    for (std::size_t at = 1; at != std::string::npos;) {
        at = folder.find('/', at + 1);
        mkdir(folder.substr(0, at).c_str(), 0700);
    }
}

std::string usual_folder() {
    if (const char* asked = std::getenv("CUPOLA_CACHE_DIR")) {
        const std::string folder = asked;
        return folder.empty() || folder == "none" ? "" : folder;
    }
    const char* base = std::getenv("XDG_CACHE_HOME");
    if (base && base[0] == '/') return std::string(base) + "/cupola";
    const char* home = std::getenv("HOME");
    return home && home[0] == '/' ? std::string(home) + "/.cache/cupola" : "";
}

std::string content(int file) {
    std::string all;
    char part[1 << 16];
    for (ssize_t got; (got = read(file, part, sizeof part)) > 0;)
        all.append(part, static_cast<std::size_t>(got));
    return all;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    if (DIR* open = opendir(folder.c_str())) {
        while (const dirent* entry = readdir(open)) names.emplace_back(entry->d_name);
        closedir(open);
    }
    return names;
}

bool is_hash(std::string_view text) {
    return text.size() == hash_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// KEY-HASH.so
bool is_library(std::string_view name) {
    return name.size() == 2 * hash_digits + 4 && is_hash(name.substr(0, hash_digits)) &&
           name[hash_digits] == '-' && is_hash(name.substr(hash_digits + 1, hash_digits)) &&
           name.substr(name.size() - 3) == ".so";
}

// "17." of "17.cpp", taken off.
bool take_number(std::string_view& name) {
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || name[digits] != '.') return false;
    name.remove_prefix(digits + 1);
    return true;
}

// PROCESS.NUMBER.cpp, .made and .made.NUMBER.o, and .log behind these two: what a compilation has
// while it lasts.
bool is_passing(std::string_view name) {
    if (!take_number(name) || !take_number(name)) return false;
    if (name == "cpp" || name == "made" || name == "made.log") return true;
    if (name.substr(0, 5) != "made.") return false;
    name.remove_prefix(5);
    return take_number(name) && (name == "o" || name == "o.log");
}

}  // namespace

std::string objection_to_installed(const std::string& path) {
    struct stat about, root;
    if (lstat(path.c_str(), &about) != 0) return path + ": " + std::strerror(errno);
    if (lstat("/", &root) != 0) return std::string("/: ") + std::strerror(errno);
    if (!S_ISREG(about.st_mode)) return path + " is not a file";
    if (!is_trusted(about, root) || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users can write " + path;
    return objection_above(path);
}

Cache::Cache() {
    if (std::string folder = usual_folder(); !folder.empty()) {
        if (folder[0] != '/') {
            char here[4096];
            if (getcwd(here, sizeof here)) folder = std::string(here) + "/" + folder;
        }
        folder_ = folder + "/cpu";
        make_folders(folder_);
        folder_ = real_path(folder_);
        const std::string objection = objection_to(folder_);
        if (objection.empty()) return;
        // What was asked for is not replaced unasked.
        if (std::getenv("CUPOLA_CACHE_DIR"))
            throw std::runtime_error("CUPOLA_CACHE_DIR=" + folder + ": " + objection);
    }
    const char* base = std::getenv("TMPDIR");
    folder_ = std::string(base && base[0] == '/' ? base : "/tmp") + "/cupola-XXXXXX";
    if (!mkdtemp(folder_.data()))
        throw std::runtime_error("there is no folder to compile in, " + folder_ + ": " +
                                 std::strerror(errno));
    own_ = true;
    folder_ = real_path(folder_);
    if (const std::string objection = objection_to(folder_); !objection.empty()) {
        rmdir(folder_.c_str());
        throw std::runtime_error("there is no folder to compile in: " + objection);
    }
}

void Cache::clear() const {
    if (!own_) return;
    for (const auto& name : names_in(folder_))
        if (name != "." && name != "..") unlink((folder_ + "/" + name).c_str());
    rmdir(folder_.c_str());
}

void* Cache::load(const std::string& key) const {
    for (const auto& name : names_in(folder_)) {
        if (!is_library(name) || name.compare(0, key.size(), key) != 0) continue;
        const std::string path = folder_ + "/" + name;
        const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0) continue;
        struct stat about;
        const bool good = objection_to(folder_).empty() && fstat(file, &about) == 0 &&
                          S_ISREG(about.st_mode) && is_own(about) &&
                          name == key + "-" + sha256(content(file)) + ".so";
        void* library = nullptr;
        if (good) {
            // By its name: nobody else can have put another file there, and by the descriptor's,
            // which is used again, the loader would take the next one for this.
            library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
            futimens(file, nullptr);  // was used now
        } else {
            unlink(path.c_str());
        }
        close(file);
        if (library) return library;
    }
    return nullptr;
}

bool Cache::keep(const std::string& key, const std::string& made) const {
    const int file = open(made.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return false;
    fchmod(file, 0600);
    const std::string hash = sha256(content(file));
    close(file);
    return rename(made.c_str(), (folder_ + "/" + key + "-" + hash + ".so").c_str()) == 0;
}

void Cache::bound() const {
    struct Kept {
        std::time_t used;
        std::uint64_t size;
        std::string path;
    };
    std::vector<Kept> all;
    std::uint64_t bytes = 0;
    const std::time_t now = std::time(nullptr);
    for (const auto& name : names_in(folder_)) {
        const std::string path = folder_ + "/" + name;
        struct stat about;
        if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
        const auto size = static_cast<std::uint64_t>(about.st_size);
        // All else in the folder is somebody else's.
        if (is_passing(name) && now - about.st_mtime > stale) unlink(path.c_str());
        if (!is_library(name)) continue;
        all.push_back({about.st_mtime, size, path});
        bytes += size;
    }
    std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
    for (const Kept& each : all) {
        if (bytes <= most_bytes) break;
        if (unlink(each.path.c_str()) == 0) bytes -= each.size;
    }
}

}  // namespace cupola::cpu::native
