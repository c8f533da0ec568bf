// csrc/cpu/texture_table.cpp - stores and finds texture and surface objects.
#include "cpu/texture_table.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "cpu/failure.hpp"

namespace cupola::cpu {

std::uint64_t TextureTable::add(TextureObject object) {
    std::unique_lock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
}

TextureObject TextureTable::get(std::uint64_t handle, bool surface) const {
    std::shared_lock lock(mutex_);
    const auto at = objects_.find(handle);
    require(at != objects_.end() && at->second.texture->surface == surface);
    return at->second;
}

bool TextureTable::remove(std::uint64_t handle, bool surface) {
    TextureObject gone;  // destroyed after the lock is released
    std::unique_lock lock(mutex_);
    const auto at = objects_.find(handle);
    if (at == objects_.end() || at->second.texture->surface != surface) return false;
    gone = std::move(at->second);
    objects_.erase(at);
    lock.unlock();
    return true;
}

void TextureTable::close(const Context& context) {
    std::vector<TextureObject> gone;
    std::unique_lock lock(mutex_);
    for (auto at = objects_.begin(); at != objects_.end();) {
        if (at->second.context != &context) {
            ++at;
            continue;
        }
        gone.push_back(std::move(at->second));
        at = objects_.erase(at);
    }
    lock.unlock();
}

std::shared_ptr<const Texture> TextureTable::find(std::uint64_t handle) const {
    std::shared_lock lock(mutex_);
    const auto at = objects_.find(handle);
    return at == objects_.end() ? nullptr : at->second.texture;
}

}  // namespace cupola::cpu
