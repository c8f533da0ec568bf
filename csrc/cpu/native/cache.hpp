// csrc/cpu/native/cache.hpp - compiled kernels, kept on disk: checked before they are loaded,
// bounded in size.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupola::cpu::native {

// Where a path leads to, without links; the path where it leads nowhere.
std::string real_path(const std::string& path);
// Why a file that was installed, by its real path, is not to be loaded: others than this user and
// root could have written it, or put it there. Empty where nothing is in the way of it.
std::string objection_to_installed(const std::string& path);

// A folder with a file for each library, KEY-HASH.so, where the hash is that of what is in it. A
// file is written aside and renamed, so that whoever looks sees a whole one or none.
class Cache {
  public:
    // CUPOLA_CACHE_DIR, else as XDG's rules have it, else (or where none is wanted) a folder of
    // this process. Made if need be. Throws std::runtime_error, which says why, where the folder
    // that was asked for can't be used, or none can.
    Cache();
    // Removes the folder, where it is this process's own.
    void clear() const;

    const std::string& folder() const { return folder_; }
    // A library that is this user's own, that nobody else could have written, and is what it was:
    // loaded. nullptr where there is none.
    void* load(const std::string& key) const;
    // Takes over a library that was made in the folder. False: it can't be kept.
    bool keep(const std::string& key, const std::string& made) const;
    void bound() const;  // removes what was used least lately, beyond the limit

  private:
    std::string folder_;
    bool own_ = false;  // this process's
};

}  // namespace cupola::cpu::native
