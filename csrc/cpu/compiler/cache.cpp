// csrc/cpu/compiler/cache.cpp - the folder of compiled kernels: its checks, its files, its size.
#include "cpu/compiler/cache.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
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
#include <utility>
#include <vector>

#include "cpu/base/sha256.hpp"
#include "cpu/compiler/process.hpp"
#include "platform/cache_settings.hpp"
#include "platform/truncated_library.hpp"

namespace cupola::cpu::compiler {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{128} << 20;
// Seconds. Older files of an unfinished compilation are removed.
constexpr std::time_t stale = 3600;
constexpr std::time_t month = 30 * 24 * 3600;
constexpr std::size_t hash_digits = Cache::key_digits, hint_digits = Cache::hint_digits;

// Whether the file belongs to this user, and others cannot write it.
bool is_private(const struct stat& about) {
    return about.st_uid == geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Whether the file belongs to this user, to root, or to the owner of the root folder, which may be
// another user in a container.
bool is_trusted(const struct stat& about, const struct stat& root) {
    return about.st_uid == geteuid() || about.st_uid == 0 || about.st_uid == root.st_uid;
}

// A user who can rename entries of a parent folder can replace the file. So the parents of a real
// path must belong to trusted users, and a parent that others can write must be sticky.
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

// Why other users could change files in a folder, which is a real path; empty if they cannot.
std::string objection_to(const std::string& folder) {
    struct stat about;
    if (lstat(folder.c_str(), &about) != 0) return folder + ": " + std::strerror(errno);
    if (!S_ISDIR(about.st_mode)) return folder + " is not a folder";
    if (!is_private(about))
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

std::string content_of(int file) {
    std::string all;
    char chunk[1 << 16];
    for (ssize_t got; (got = read(file, chunk, sizeof chunk)) > 0;)
        all.append(chunk, static_cast<std::size_t>(got));
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

// KEY.so, KEY.lock, KEY.txt
bool is_of_key(std::string_view name, std::string_view suffix) {
    return name.size() == hash_digits + suffix.size() && is_hash(name.substr(0, hash_digits)) &&
           name.substr(hash_digits) == suffix;
}

// KEY.so, KEY-HASH.so
bool is_library(std::string_view name) {
    if (is_of_key(name, ".so")) return true;
    return name.size() == 2 * hash_digits + 4 && is_hash(name.substr(0, hash_digits)) &&
           name[hash_digits] == '-' && is_hash(name.substr(hash_digits + 1, hash_digits)) &&
           name.substr(name.size() - 3) == ".so";
}

// KEY.hpp, KEY.hpp.gch
bool is_header(std::string_view name) {
    return is_of_key(name, ".hpp") || is_of_key(name, ".hpp.gch");
}

// Removes "17." from the front of "17.cpp".
bool skip_number(std::string_view& name) {
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || name[digits] != '.') return false;
    name.remove_prefix(digits + 1);
    return true;
}

// Temporary files of a compilation: PROCESS.NUMBER.cpp, .made, .made.gch and .made.NUMBER.o, those
// that compilers make also with .log appended, and KEY.lock. KEY.txt.NUMBER is a note that is being
// written, and KEY.hpp.NUMBER a header.
bool is_temporary(std::string_view name) {
    if (is_of_key(name, ".lock")) return true;
    const std::string_view beginning = name.substr(0, hash_digits + 5);
    if (is_of_key(beginning, ".txt.")) return true;
    if (is_of_key(beginning, ".hpp.") && !is_header(name)) return true;
    if (!skip_number(name) || !skip_number(name)) return false;
    if (name == "cpp" || name == "made" || name == "made.log") return true;
    if (name.substr(0, 5) != "made.") return false;
    name.remove_prefix(5);
    if (name == "gch" || name == "gch.log") return true;
    return skip_number(name) && (name == "o" || name == "o.log");
}

// PROCESS.NUMBER.made.zig
bool is_temporary_folder(std::string_view name) {
    return skip_number(name) && skip_number(name) && name == "made.zig";
}

}  // namespace

std::string objection_to_installed(const std::string& path) {
    struct stat about, root;
    if (lstat(path.c_str(), &about) != 0) return path + ": " + std::strerror(errno);
    if (lstat("/", &root) != 0) return std::string("/: ") + std::strerror(errno);
    if (!S_ISREG(about.st_mode)) return path + " is not a file";
    if (!is_trusted(about, root) || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "other users can write " + path;
    if (std::string objection = objection_above(path); !objection.empty()) return objection;
    return truncation_of(path);
}

std::unique_ptr<const Cache> Cache::find() {
    std::string folder = environment::cache_folder();
    if (folder.empty()) return nullptr;
    folder = real_path(folder + "/cpu");
    if (!objection_to(folder).empty()) return nullptr;
    return std::unique_ptr<const Cache>(new Cache(std::move(folder)));
}

Cache::Cache() {
    if (const std::string folder = environment::cache_folder(); !folder.empty()) {
        folder_ = folder + "/cpu";
        make_folders(folder_);
        folder_ = real_path(folder_);
        const std::string objection = objection_to(folder_);
        if (objection.empty()) return;
        // A folder that the user has named is not replaced by another folder.
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

bool Cache::may_contain(const std::string& hint) const {
    struct stat about;
    if (stat(folder_.c_str(), &about) != 0) return false;
    const auto nanoseconds = [](const timespec& t) {
        return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    };
    // A file system may record the same time for two changes that are this close together.
    constexpr std::int64_t tick = 20'000'000;
    std::lock_guard lock(mutex_);
    const std::int64_t changed = nanoseconds(about.st_mtim);
    if (changed != changed_ || read_ < changed + tick) {
        timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        hints_.clear();
        for (const auto& name : names_in(folder_))
            if (is_library(name)) hints_.insert(name.substr(0, hint_digits));
        changed_ = changed;
        read_ = nanoseconds(now);
    }
    return hints_.find(hint) != hints_.end();
}

// Loads a library if its content is correct; removes it otherwise.
void* Cache::load_file(const std::string& key, const std::string& name) const {
    const std::string path = folder_ + "/" + name;
    const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return nullptr;
    struct stat about;
    const bool good = objection_to(folder_).empty() && fstat(file, &about) == 0 &&
                      S_ISREG(about.st_mode) && is_private(about) &&
                      name == key + "-" + sha256(content_of(file)) + ".so";
    void* library = nullptr;
    // Loads by name: other users cannot replace the file. A path through the descriptor would be
    // reused for later files, which the loader would take for this one.
    if (good) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
        futimens(file, nullptr);  // records its last use
    else
        unlink(path.c_str());
    close(file);
    return library;
}

void* Cache::load(const std::string& key) const {
    // A library that a detached compiler left has no hash in its name yet.
    const std::string left = pending_path(key);
    struct stat about;
    if (lstat(left.c_str(), &about) == 0 && objection_to(folder_).empty() &&
        !(is_private(about) && store(key, left)))
        unlink(left.c_str());
    for (const auto& name : names_in(folder_)) {
        if (!is_library(name) || name.compare(0, key.size() + 1, key + "-") != 0) continue;
        if (void* library = load_file(key, name)) return library;
    }
    return nullptr;
}

bool Cache::store(const std::string& key, const std::string& made) const {
    const int file = open(made.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return false;
    struct stat about;
    const bool good = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && fchmod(file, 0600) == 0;
    const std::string hash = good ? sha256(content_of(file)) : "";
    close(file);
    return good && rename(made.c_str(), (folder_ + "/" + key + "-" + hash + ".so").c_str()) == 0;
}

Cache::Lock Cache::lock(const std::string& key) const {
    const std::string name = folder_ + "/" + key + ".lock";
    int file =
        move_above_stdio(open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    // On a file system without locks, several processes may compile the same kernel.
    const bool taken = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken) close(std::exchange(file, -1));
    return {name, file, taken};
}

Cache::Lock::~Lock() {
    if (file_ < 0) return;
    unlink(name_.c_str());
    close(file_);
}

std::string Cache::note(const std::string& key, std::int64_t& seconds) const {
    const int file =
        open((folder_ + "/" + key + ".txt").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return "";
    struct stat about;
    std::string text;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && is_private(about)) {
        text = content_of(file);
        seconds = std::time(nullptr) - about.st_mtime;
    }
    close(file);
    return text;
}

// Writes a file under a temporary name, and renames it.
bool Cache::write(const std::string& name, std::string_view text) const {
    const std::string path = folder_ + "/" + name,
                      temporary = path + "." + std::to_string(getpid());
    const int file =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    const bool wrote = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (close(file) == 0 && wrote && rename(temporary.c_str(), path.c_str()) == 0) return true;
    unlink(temporary.c_str());
    return false;
}

std::string Cache::header(const std::string& key, std::string_view text) const {
    const std::string path = folder_ + "/" + key + ".hpp";
    const auto is_usable = [](const std::string& file, std::size_t least, std::size_t most) {
        struct stat about;
        if (lstat(file.c_str(), &about) != 0) return false;
        const auto bytes = static_cast<std::size_t>(about.st_size);
        const bool good =
            S_ISREG(about.st_mode) && is_private(about) && bytes >= least && bytes <= most;
        if (good)
            utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // its last use
        else
            unlink(file.c_str());
        return good;
    };
    if (!objection_to(folder_).empty()) return "";
    // An unusable file is removed, and made again. gcc ignores an empty precompiled header
    // silently.
    is_usable(path + ".gch", text.size(), SIZE_MAX);
    return is_usable(path, text.size(), text.size()) || write(key + ".hpp", text) ? path : "";
}

Cache::Content Cache::content() const {
    Content all;
    for (const auto& name : names_in(folder_)) {
        struct stat about;
        const bool library = is_library(name);
        if (!library && !is_header(name)) continue;
        if (lstat((folder_ + "/" + name).c_str(), &about) != 0) continue;
        all.libraries += library;
        all.bytes += static_cast<std::uint64_t>(about.st_size);
    }
    return all;
}

void Cache::evict() const {
    struct Entry {
        std::time_t used;
        std::uint64_t size;
        std::string path;
    };
    std::vector<Entry> all;
    std::uint64_t bytes = 0;
    const std::time_t now = std::time(nullptr);
    for (const auto& name : names_in(folder_)) {
        const std::string path = folder_ + "/" + name;
        struct stat about;
        if (lstat(path.c_str(), &about) != 0) continue;
        if (S_ISDIR(about.st_mode) && is_temporary_folder(name) && now - about.st_mtime > stale)
            remove_folder(path);
        if (!S_ISREG(about.st_mode)) continue;
        const auto size = static_cast<std::uint64_t>(about.st_size);
        // Other files in the folder do not belong to the cache.
        if ((is_temporary(name) && now - about.st_mtime > stale) ||
            (is_of_key(name, ".txt") && now - about.st_mtime > month))
            unlink(path.c_str());
        if (!is_library(name) && !is_header(name)) continue;
        all.push_back({about.st_mtime, size, path});
        bytes += size;
    }
    std::sort(all.begin(), all.end(),
              [](const Entry& a, const Entry& b) { return a.used < b.used; });
    for (const Entry& each : all) {
        if (bytes <= max_bytes) break;
        if (unlink(each.path.c_str()) == 0) bytes -= each.size;
    }
}

}  // namespace cupola::cpu::compiler
