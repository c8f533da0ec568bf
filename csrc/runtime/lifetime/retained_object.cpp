// csrc/runtime/lifetime/retained_object.cpp - the list of what is alive, and what is kept though
// nobody has it.
#include "runtime/lifetime/retained_object.hpp"

#include <algorithm>
#include <new>
#include <unordered_set>

#include "runtime/driver/driver.hpp"

namespace cupola {
namespace {

// Never destroyed: objects may end while the process does.
struct Listed {
    std::mutex mutex;
    RetainedObject* first = nullptr;
    int makers = 0;                     // graphs that are being made
    std::vector<Ref<Object>> remained;  // what nobody had any more meanwhile
};

Listed& listed() {
    static Listed* const all = new Listed;
    return *all;
}

struct Boxes {
    std::mutex mutex;
    std::unordered_set<RetainedObjects*> all;
};

Boxes& boxes() {
    static Boxes* const all = new Boxes;
    return *all;
}

// For one more, before there is a reference to it: where memory is short that one would go with the
// lock still held, which ending an object takes.
void make_room(std::vector<Ref<Object>>& list) {
    constexpr std::size_t few = 16;
    if (list.size() == list.capacity()) list.reserve(std::max(few, 2 * list.size()));
}

}  // namespace

RetainedObjects::RetainedObjects() {
    std::lock_guard<std::mutex> lock(boxes().mutex);
    boxes().all.insert(this);
}

// What it holds goes afterwards, without the lock, which a forked child does not take.
RetainedObjects::~RetainedObjects() {
    if (!driver_alive()) return;
    std::lock_guard<std::mutex> lock(boxes().mutex);
    boxes().all.erase(this);
}

void RetainedObjects::hold(Ref<Object> object) {
    std::lock_guard<std::mutex> lock(mutex);
    held.push_back(std::move(object));
}

bool RetainedObjects::any_holds(const std::function<bool(const Object&)>& what) {
    std::lock_guard<std::mutex> lock(boxes().mutex);
    for (RetainedObjects* box : boxes().all) {
        std::lock_guard<std::mutex> inside(box->mutex);
        for (const Ref<Object>& object : box->held)
            if (what(*object)) return true;
    }
    return false;
}

// Elsewhere end() has done it, before anything of the object was gone.
RetainedObject::~RetainedObject() {
    if (!listed_) return;
    std::lock_guard<std::mutex> lock(listed().mutex);
    unlist();
}

void RetainedObject::register_range(std::uint64_t begin, std::size_t size) {
    Listed& all = listed();
    begin_ = begin;
    size_ = size;
    std::lock_guard<std::mutex> lock(all.mutex);
    next_ = all.first;
    if (next_) next_->previous_ = this;
    all.first = this;
    listed_ = true;
}

bool RetainedObject::contains_any(const Numbers& numbers) const {
    const auto first = std::lower_bound(numbers.begin(), numbers.end(), begin_);
    return size_ > 0 && first != numbers.end() && *first - begin_ < size_;
}

// With the lock.
void RetainedObject::unlist() noexcept {
    if (!listed_) return;
    Listed& all = listed();
    listed_ = false;
    (previous_ ? previous_->next_ : all.first) = next_;
    if (next_) next_->previous_ = previous_;
    previous_ = next_ = nullptr;
}

void RetainedObject::end() noexcept {
    if (!listed_) return Object::end();
    // In a forked child another thread may have the mutex for ever: there it is kept.
    if (!driver_alive()) return;
    Listed& all = listed();
    try {
        std::unique_lock<std::mutex> lock(all.mutex);
        if (const auto box = wanted_.lock()) {
            wanted_.reset();
            lock.unlock();
            std::lock_guard<std::mutex> hold(box->mutex);
            make_room(box->held);
            box->held.push_back(Ref<Object>::adopt(revive()));
            return;
        }
        if (all.makers > 0) {
            make_room(all.remained);
            all.remained.push_back(Ref<Object>::adopt(revive()));
            return;
        }
        unlist();
    } catch (const std::bad_alloc&) {  // it is kept
        return;
    }
    Object::end();
}

void RetainedObject::hold(const Numbers& numbers, const std::shared_ptr<RetainedObjects>& box) {
    if (numbers.empty()) return;
    Listed& all = listed();
    std::vector<Ref<Object>> found;
    {
        std::lock_guard<std::mutex> lock(all.mutex);
        for (RetainedObject* each = all.first; each; each = each->next_) {
            if (!each->contains_any(numbers)) continue;
            make_room(found);
            if (each->try_retain())
                found.push_back(Ref<Object>::adopt(each));
            else  // another thread is about to end it, and will look here
                each->wanted_ = box;
        }
    }
    std::lock_guard<std::mutex> lock(box->mutex);
    for (auto& one : found) box->held.push_back(std::move(one));
}

Ref<RetainedObject> RetainedObject::find(std::uint64_t begin) {
    Listed& all = listed();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (RetainedObject* each = all.first; each; each = each->next_)
        if (each->begin_ == begin && each->try_retain()) return Ref<RetainedObject>::adopt(each);
    return {};
}

void RetainedObject::list_all(Numbers& numbers) {
    Listed& all = listed();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (RetainedObject* each = all.first; each; each = each->next_)
        numbers.push_back(each->begin_);
}

void RetainedObject::begin_deferred_release() {
    std::lock_guard<std::mutex> lock(listed().mutex);
    ++listed().makers;
}

bool RetainedObject::keep(Ref<Object>& object) {
    std::lock_guard<std::mutex> lock(listed().mutex);
    if (listed().makers == 0) return false;
    make_room(listed().remained);
    listed().remained.push_back(std::move(object));
    return true;
}

void RetainedObject::end_deferred_release() noexcept {
    std::vector<Ref<Object>> remained;
    std::lock_guard<std::mutex> lock(listed().mutex);
    if (--listed().makers == 0) remained.swap(listed().remained);
    // Ends after the lock is let go: `remained` is older than the guard.
}

}  // namespace cupola
