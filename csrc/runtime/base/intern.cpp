// csrc/runtime/base/intern.cpp - stores texts that are never freed.
#include "runtime/base/intern.hpp"

#include <mutex>
#include <unordered_set>

namespace cupola {

const char* intern(const std::string& text) {
    struct Texts {
        std::mutex mutex;
        std::unordered_set<std::string> all;
    };
    static auto* const texts = new Texts;
    std::lock_guard<std::mutex> lock(texts->mutex);
    return texts->all.insert(text).first->c_str();
}

}  // namespace cupola
