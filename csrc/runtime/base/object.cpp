// csrc/runtime/base/object.cpp - deletes objects whose last reference is gone.
#include "runtime/base/object.hpp"

#include <pthread.h>

#include <memory>
#include <new>

namespace cupola {
namespace {

thread_local DeferredDeletes* deferred = nullptr;

void* delete_all(void* list) {
    std::unique_ptr<std::vector<Object*>> objects(static_cast<std::vector<Object*>*>(list));
    for (Object* object : *objects) delete object;
    return nullptr;
}

}  // namespace

void Object::end() noexcept {
    if (__builtin_expect(deferred == nullptr, 1)) {
        delete this;
        return;
    }
    try {
        deferred->objects_.push_back(this);
    } catch (const std::bad_alloc&) {  // the object leaks
    }
}

DeferredDeletes::DeferredDeletes() { deferred = this; }

// Where no thread can be started, the objects leak, which is safe.
DeferredDeletes::~DeferredDeletes() {
    deferred = nullptr;
    if (objects_.empty()) return;
    auto* list = new std::vector<Object*>(std::move(objects_));
    pthread_t thread;
    if (pthread_create(&thread, nullptr, &delete_all, list) == 0) pthread_detach(thread);
}

}  // namespace cupola
