// csrc/cpu/compiler/cache.hpp - compiled kernels, kept on disk: checked before they are loaded,
// bounded in size.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cupola::cpu::compiler {

// Where a path leads to, without links; the path where it leads nowhere.
std::string real_path(const std::string& path);
// Why a file that was installed, by its real path, is not to be loaded: others than this user and
// root could have written it, or put it there. Empty where nothing is in the way of it.
std::string objection_to_installed(const std::string& path);

// A folder with a file for each library, KEY-HASH.so, where the hash is that of what is in it. A
// file is written aside and renamed, so that readers see a complete one or none. A compiler that
// outlived its program leaves KEY.so, which the next process that needs it takes over.
class Cache {
  public:
    // A key is so many hexadecimal digits; so many of them are a hint at the kernels it is of.
    static constexpr std::size_t key_digits = 64, hint_digits = 16;

    // CUPOLA_CACHE_DIR, else as XDG's rules have it, else (or where none is wanted) a folder of
    // this process. Made if need be. Throws std::runtime_error, which says why, where the folder
    // that was asked for can't be used, or none can.
    Cache();
    // That of earlier processes; nullptr where there is none to be used.
    static std::unique_ptr<const Cache> find();
    // Removes the folder, where it is this process's own.
    void clear() const;

    const std::string& folder() const { return folder_; }
    bool is_of_process() const { return own_; }
    // Whether there may be a library whose key begins so. Reads the names of the folder's files
    // again only after the folder has changed.
    bool may_have(const std::string& hint) const;
    // A library that is this user's own, that nobody else could have written, and is what it was:
    // loaded. nullptr where there is none.
    void* load(const std::string& key) const;
    // Takes over a library that was made in the folder. False: it can't be kept.
    bool keep(const std::string& key, const std::string& made) const;
    void bound() const;  // removes what was used least lately, beyond the limit

    // Where a compiler leaves the library when it is complete.
    std::string finished(const std::string& key) const { return folder_ + "/" + key + ".so"; }
    // Of the process that compiles it, and of its compilers, as long as they run.
    class Lock {
      public:
        Lock(std::string name, int file, bool taken)
            : name_(std::move(name)), file_(file), taken_(taken) {}
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock();
        const std::string& name() const { return name_; }
        bool taken() const { return taken_; }  // by another process
        // The file is closed, and its name removed, by others.
        int release() { return std::exchange(file_, -1); }

      private:
        std::string name_;
        int file_;  // -1: there is none
        bool taken_;
    };
    Lock lock(const std::string& key) const;

    // A short text under a key, this user's own; empty where there is none. `seconds`: its age.
    std::string note(const std::string& key, std::int64_t& seconds) const;
    void write_note(const std::string& key, const std::string& text) const;

    struct Content {
        std::size_t libraries = 0;
        std::uint64_t bytes = 0;
    };
    Content content() const;

  private:
    explicit Cache(std::string folder) : folder_(std::move(folder)) {}
    void* load_file(const std::string& key, const std::string& name) const;

    std::string folder_;
    bool own_ = false;  // this process's
    mutable std::mutex mutex_;
    mutable std::set<std::string, std::less<>> hints_;
    mutable std::int64_t changed_ = -1, read_ = 0;  // nanoseconds
};

}  // namespace cupola::cpu::compiler
