// csrc/cpu/device/driver/texture_table.cpp - stores and finds texture and surface objects.
#include "cpu/device/driver/texture_table.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {

struct TextureTable::Period final : TextureSpace {
    explicit Period(const TextureTable* owner) : table(owner) {}
    // Releases the next periods in a loop: recursion over many would overflow the stack.
    ~Period() override {
        if (!next) return;
        std::vector<std::shared_ptr<Period>> gone;  // destroyed after the lock is released
        std::unique_lock lock(table->mutex_);
        while (next && next.use_count() == 1) {
            gone.push_back(std::move(next));
            next = std::move(gone.back()->next);
        }
    }

    std::shared_ptr<const Texture> find(std::uint64_t handle) const override {
        std::shared_lock lock(table->mutex_);
        const auto at = table->objects_.find(handle);
        if (at != table->objects_.end()) return at->second.texture;
        for (const Period* period = this; period->next; period = period->next.get())
            if (period->removed_handle == handle) return period->removed;
        return nullptr;
    }

    const TextureTable* table;
    std::uint64_t removed_handle = 0;
    std::shared_ptr<const Texture> removed;
    std::shared_ptr<Period> next;  // null for the current period
};

TextureTable::TextureTable() : period_(std::make_shared<Period>(this)) {}

std::shared_ptr<const TextureSpace> TextureTable::space() const {
    std::shared_lock lock(mutex_);
    return period_;
}

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
    auto next = std::make_shared<Period>(this);
    std::shared_ptr<Period> ended;  // destroyed after the lock is released
    std::unique_lock lock(mutex_);
    const auto at = objects_.find(handle);
    if (at == objects_.end() || at->second.texture->surface != surface) return false;
    period_->removed_handle = handle;
    period_->removed = std::move(at->second.texture);
    period_->next = next;
    ended = std::exchange(period_, std::move(next));
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

}  // namespace cupola::cpu
