// csrc/cpu/compiler/cache.hpp - compiled kernels on disk, checked before they are loaded, bounded
// in size.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cupola::cpu::compiler {

// The path without symbolic links; the path itself if it does not exist.
std::string real_path(const std::string& path);
// Why an installed library, given by its real path, must not be loaded: users other than this one
// and root could have written or replaced it, or it is truncated. Empty if it may be loaded.
std::string objection_to_installed(const std::string& path);

// A folder with one file for each library, KEY-HASH.so. HASH is a hash of the content. A file is
// written under a temporary name and renamed, so readers never see an incomplete one. A compiler
// that outlived its program leaves KEY.so, which the next process that needs it takes over.
class Cache {
  public:
    // Hexadecimal digits of a key. Its first digits are a hint, which depends on the kernels alone.
    static constexpr std::size_t key_digits = 64, hint_digits = 16;

    // Opens CUPOLA_CACHE_DIR, else the folder of the XDG rules, else a temporary folder of this
    // process. The latter is also used if CUPOLA_CACHE_DIR is empty or "none". Creates the folder.
    // Throws std::runtime_error with the reason if the named folder, or every folder, is unusable.
    Cache();
    // The cache of earlier processes; nullptr if no cache exists, or if it is unusable.
    static std::unique_ptr<const Cache> find();
    // Removes the folder if it belongs to this process alone.
    void clear() const;

    const std::string& folder() const { return folder_; }
    bool is_process_local() const { return own_; }
    // Whether a library's key may begin with this hint. Lists the folder again only after it has
    // changed.
    bool may_contain(const std::string& hint) const;
    // Loads a library that only this user could have written and whose content matches its name;
    // nullptr if there is none.
    void* load(const std::string& key) const;
    // Takes over a library that was compiled in the folder. Returns false if the library cannot be
    // stored.
    bool store(const std::string& key, const std::string& made) const;
    void evict() const;  // removes the least recently used files above the limit

    // The path at which a detached compiler leaves a complete library.
    std::string pending_path(const std::string& key) const { return folder_ + "/" + key + ".so"; }
    // Held by the process that compiles a key, and by its compilers while they run.
    class Lock {
      public:
        Lock(std::string name, int file, bool taken)
            : name_(std::move(name)), file_(file), taken_(taken) {}
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock();
        const std::string& name() const { return name_; }
        bool taken() const { return taken_; }  // by another process
        // The caller then closes the file and removes its name.
        int release() { return std::exchange(file_, -1); }

      private:
        std::string name_;
        int file_;  // -1: there is none
        bool taken_;
    };
    Lock lock(const std::string& key) const;

    // The path of a header with this text, whose precompiled form is kept beside the header (.gch);
    // empty if the header cannot be written. Removes a precompiled form that other users could have
    // written.
    std::string header(const std::string& key, std::string_view text) const;

    // A short text that this user stored under a key; empty if no text is stored. `seconds`: the
    // age of the text.
    std::string note(const std::string& key, std::int64_t& seconds) const;
    void write_note(const std::string& key, const std::string& text) const {
        write(key + ".txt", text);
    }

    struct Content {
        std::size_t libraries = 0;
        std::uint64_t bytes = 0;
    };
    Content content() const;

  private:
    explicit Cache(std::string folder) : folder_(std::move(folder)) {}
    bool write(const std::string& name, std::string_view text) const;
    void* load_file(const std::string& key, const std::string& name) const;

    std::string folder_;
    bool own_ = false;  // the folder is temporary, of this process
    mutable std::mutex mutex_;
    mutable std::set<std::string, std::less<>> hints_;
    mutable std::int64_t changed_ = -1, read_ = 0;  // nanoseconds
};

}  // namespace cupola::cpu::compiler
