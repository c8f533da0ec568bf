// csrc/runtime/lifetime/owner.cpp - lists the owners of the process.
#include "runtime/lifetime/owner.hpp"

#include <mutex>
#include <unordered_map>

namespace cupola {
namespace {

struct Owners {
    std::mutex mutex;
    std::unordered_map<const void*, const Owner*> all;
};

// Never destroyed: owners may end while the process exits.
Owners& owners() {
    static auto* const all = new Owners;
    return *all;
}

}  // namespace

Owner::Owner(void* owner, void (*release)(void*)) : owner_(owner), release_(release) {
    if (!release) return;
    std::lock_guard<std::mutex> lock(owners().mutex);
    owners().all[owner] = this;
}

Owner::~Owner() {
    if (!release_) return;
    unlist();
    release_(owner_);
}

void Owner::disown() noexcept {
    unlist();
    release_ = nullptr;
}

void Owner::unlist() noexcept {
    std::lock_guard<std::mutex> lock(owners().mutex);
    const auto it = owners().all.find(owner_);
    if (it != owners().all.end() && it->second == this) owners().all.erase(it);
}

long Owner::references_of(const void* owner) {
    std::lock_guard<std::mutex> lock(owners().mutex);
    const auto it = owners().all.find(owner);
    return it == owners().all.end() ? 0 : it->second->references();
}

}  // namespace cupola
