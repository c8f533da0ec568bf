// csrc/platform/cache_settings.hpp - the folder and the size of the caches, read in the same way by
// both libraries. Python asks libcupola.so.
#pragma once

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "platform/environment.hpp"

namespace cupola::environment {

// An absolute path. A relative path begins at the current folder, and an empty path stays empty.
inline std::string absolute_path(std::string path) {
    if (path.empty() || path[0] == '/') return path;
    std::vector<char> here(4096);
    while (!getcwd(here.data(), here.size())) {
        if (errno != ERANGE) return "";  // the current folder was removed
        here.resize(2 * here.size());
    }
    return std::string(here.data()) + "/" + path;
}

// HOME, or without it the folder of the user in the system's database. Empty if neither is
// absolute.
inline std::string home_folder() {
    if (const std::string_view home = text_of("HOME"); !home.empty())
        return home[0] == '/' ? std::string(home) : "";
    std::vector<char> room(1 << 14);
    struct passwd entry, *found = nullptr;
    while (getpwuid_r(getuid(), &entry, room.data(), room.size(), &found) == ERANGE)
        room.resize(2 * room.size());
    return found && found->pw_dir && found->pw_dir[0] == '/' ? found->pw_dir : "";
}

// An absolute path of a folder that may not exist; empty where there is no cache.
inline std::string cache_folder() {
    if (const char* asked = std::getenv("CUPOLA_CACHE_DIR")) {
        const std::string folder = asked;
        return folder == "none" ? "" : absolute_path(folder);
    }
    // The XDG specification ignores relative paths.
    if (const std::string_view base = text_of("XDG_CACHE_HOME"); !base.empty() && base[0] == '/')
        return std::string(base) + "/cupola";
    const std::string home = home_folder();
    return home.empty() ? "" : home + "/.cache/cupola";
}

// CUPOLA_CACHE_SIZE in bytes: the limit of the cache of images. Spaces around the number are
// ignored.
inline bool read_cache_size(std::uint64_t& out, std::string& error) {
    constexpr std::string_view spaces = " \t\n\r";
    std::string_view text = text_of("CUPOLA_CACHE_SIZE");
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(spaces) + 1));
    out = std::uint64_t{512} << 20;
    return read_bytes("CUPOLA_CACHE_SIZE", text, out, error);
}

}  // namespace cupola::environment
