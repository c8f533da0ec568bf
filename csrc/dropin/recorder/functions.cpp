// csrc/dropin/recorder/functions.cpp - chooses the kernels that are recorded.
#include "dropin/recorder/functions.hpp"

#include <map>
#include <mutex>

#include "dropin/recorder/settings.hpp"

namespace cupola::recorder {
namespace {

// Never destroyed: threads may launch while the process exits.
struct Owners {
    std::mutex mutex;  // also held while the table of functions changes
    std::map<const void*, std::shared_ptr<Image>> images;  // by module or library
};

Owners& owners() {
    static Owners* const made = new Owners;
    return *made;
}

void add(const void* handle, const void* owner, const char* name, Function made) {
    if (!name || settings().spool.empty()) return;
    Owners& all = owners();
    std::lock_guard lock(all.mutex);
    const auto image = all.images.find(owner);
    Function* function = nullptr;
    if (image != all.images.end() && settings().matches(name)) {
        made.name = name;
        made.image = image->second;
        const Function* const known = functions.find(handle);
        if (known && known->name == made.name && known->image == made.image) return;
        function = new Function(std::move(made));
    }
    functions.set(handle, function);
}

void own(const void* owner, std::shared_ptr<Image> image) {
    if (settings().spool.empty()) return;
    Owners& all = owners();
    std::lock_guard lock(all.mutex);
    all.images[owner] = std::move(image);
}

}  // namespace

Functions functions;

void Functions::insert(Slots& slots, const void* handle, Function* function) {
    std::size_t i = place(handle) & slots.mask;
    for (;; i = (i + 1) & slots.mask) {
        const void* const key = slots.entries[i].key.load(std::memory_order_relaxed);
        if (key == handle || !key) break;
    }
    Entry& entry = slots.entries[i];
    if (!entry.key.load(std::memory_order_relaxed)) ++slots.used;
    entry.function.store(function, std::memory_order_release);
    entry.key.store(handle, std::memory_order_release);
}

void Functions::set(const void* handle, Function* function) {
    if (!handle || (!function && !find(handle))) return;
    Slots* const now = slots_.load(std::memory_order_acquire);
    if (now && 2 * (now->used + 1) <= now->mask + 1) {
        insert(*now, handle, function);
        return;
    }
    auto* const larger = new Slots(now ? 2 * (now->mask + 1) : 64);
    for (std::size_t i = 0; now && i <= now->mask; ++i)
        if (const void* const key = now->entries[i].key.load(std::memory_order_relaxed))
            insert(*larger, key, now->entries[i].function.load(std::memory_order_relaxed));
    insert(*larger, handle, function);
    slots_.store(larger, std::memory_order_release);
}

void add_module(CUmodule module, std::shared_ptr<Image> image) { own(module, std::move(image)); }
void add_library(CUlibrary library, std::shared_ptr<Image> image) {
    own(library, std::move(image));
}

void add_module_of(CUmodule module, CUlibrary library) {
    Owners& all = owners();
    std::lock_guard lock(all.mutex);
    const auto image = all.images.find(library);
    if (image != all.images.end()) all.images[module] = image->second;
}

void forget(const void* owner) {
    Owners& all = owners();
    std::lock_guard lock(all.mutex);
    all.images.erase(owner);
}

void add_function(CUfunction function, CUmodule module, const char* name) {
    Function made;
    made.module = module;
    add(function, module, name, std::move(made));
}

void add_kernel(CUkernel kernel, CUlibrary library, const char* name) {
    Function made;
    made.library = library;
    made.is_kernel = true;
    add(kernel, library, name, std::move(made));
}

void add_function_of(CUfunction function, CUkernel kernel) {
    if (settings().spool.empty()) return;
    std::lock_guard lock(owners().mutex);
    const Function* const known = functions.find(kernel);
    Function* made = nullptr;
    if (known) {
        made = new Function(*known);
        made->is_kernel = false;
    }
    functions.set(function, made);
}

}  // namespace cupola::recorder
