// csrc/runtime/lifetime/retained_object.cpp - the list of live objects, and deferred releases.
#include "runtime/lifetime/retained_object.hpp"

#include <algorithm>
#include <new>
#include <unordered_set>

#include "runtime/driver/driver.hpp"

namespace cupola {
namespace {

// Never destroyed: objects may be released while the process exits.
struct Listed {
    std::mutex mutex;
    RetainedObject* first = nullptr;
    int makers = 0;                     // graphs being built
    std::vector<Ref<Object>> deferred;  // objects without other references since then
};

Listed& listed() {
    static Listed* const all = new Listed;
    return *all;
}

struct RetainedSets {
    std::mutex mutex;
    std::unordered_set<RetainedObjects*> all;
};

RetainedSets& retained_sets() {
    static RetainedSets* const all = new RetainedSets;
    return *all;
}

// Reserves before a reference exists. If push_back threw, it would release the object under the
// lock that its end() takes: a deadlock.
void make_room(std::vector<Ref<Object>>& list) {
    constexpr std::size_t few = 16;
    if (list.size() == list.capacity()) list.reserve(std::max(few, 2 * list.size()));
}

}  // namespace

RetainedObjects::RetainedObjects() {
    std::lock_guard<std::mutex> lock(retained_sets().mutex);
    retained_sets().all.insert(this);
}

// The objects are released after the lock. A forked child does not take the lock.
RetainedObjects::~RetainedObjects() {
    if (drivers_ended()) return;
    std::lock_guard<std::mutex> lock(retained_sets().mutex);
    retained_sets().all.erase(this);
}

void RetainedObjects::hold(Ref<Object> object) {
    std::lock_guard<std::mutex> lock(mutex);
    held.push_back(std::move(object));
}

bool RetainedObjects::any_holds(const std::function<bool(const Object&)>& what) {
    std::lock_guard<std::mutex> lock(retained_sets().mutex);
    for (RetainedObjects* retained : retained_sets().all) {
        std::lock_guard<std::mutex> inside(retained->mutex);
        for (const Ref<Object>& object : retained->held)
            if (what(*object)) return true;
    }
    return false;
}

// end() unlists complete objects; this is for those whose constructor threw.
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

// The caller holds the lock.
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
    // In a forked child the mutex may stay locked: there the object leaks.
    if (drivers_ended()) return;
    Listed& all = listed();
    try {
        std::unique_lock<std::mutex> lock(all.mutex);
        if (const auto retained = wanted_.lock()) {
            wanted_.reset();
            lock.unlock();
            std::lock_guard<std::mutex> hold(retained->mutex);
            make_room(retained->held);
            retained->held.push_back(Ref<Object>::adopt(revive()));
            return;
        }
        if (all.makers > 0) {
            make_room(all.deferred);
            all.deferred.push_back(Ref<Object>::adopt(revive()));
            return;
        }
        unlist();
    } catch (const std::bad_alloc&) {  // the object leaks
        return;
    }
    Object::end();
}

void RetainedObject::hold(const Numbers& numbers,
                          const std::shared_ptr<RetainedObjects>& retained) {
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
            else  // another thread is in end() and will check wanted_
                each->wanted_ = retained;
        }
    }
    std::lock_guard<std::mutex> lock(retained->mutex);
    for (auto& one : found) retained->held.push_back(std::move(one));
}

Ref<RetainedObject> RetainedObject::find(std::uint64_t begin) {
    Listed& all = listed();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (RetainedObject* each = all.first; each; each = each->next_)
        if (each->begin_ == begin && each->try_retain()) return Ref<RetainedObject>::adopt(each);
    return {};
}

bool RetainedObject::find_range(std::uint64_t number, std::uint64_t& begin, std::size_t& size) {
    Listed& all = listed();
    std::lock_guard<std::mutex> lock(all.mutex);
    for (const RetainedObject* each = all.first; each; each = each->next_) {
        if (number - each->begin_ >= each->size_) continue;
        begin = each->begin_;
        size = each->size_;
        return true;
    }
    return false;
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
    make_room(listed().deferred);
    listed().deferred.push_back(std::move(object));
    return true;
}

void RetainedObject::end_deferred_release() noexcept {
    std::vector<Ref<Object>> deferred;
    std::lock_guard<std::mutex> lock(listed().mutex);
    if (--listed().makers == 0) deferred.swap(listed().deferred);
    // The objects end after the lock: `deferred` was declared before the guard.
}

}  // namespace cupola
