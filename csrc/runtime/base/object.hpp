// csrc/runtime/base/object.hpp - reference-counted objects behind the opaque C handles.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

namespace cupola {

// The base of every object behind an opaque handle. Destructors never throw (see
// DriverLink::alive).
class Object {
  public:
    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;

    void retain() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
    }
    long references() const noexcept { return count_.load(std::memory_order_acquire); }
    // Deletes the object: immediately, or on another thread in the scope of a DeferredDeletes.
    virtual void end() noexcept;

    // Whether the two objects are the same, or this is a part that can't outlive the other object.
    virtual bool belongs_to(const Object& other) const { return this == &other; }

  protected:
    // Resurrects an object whose reference count reached zero.
    Object* revive() noexcept {
        count_.store(1, std::memory_order_release);
        return this;
    }
    // Adds a reference, unless the count is zero.
    bool try_retain() noexcept {
        long count = count_.load(std::memory_order_relaxed);
        while (count > 0)
            if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel))
                return true;
        return false;
    }

  private:
    std::atomic<long> count_{1};
};

// In its scope this thread deletes no object: another thread does so after the scope. For driver
// callbacks, which must not call the driver.
class DeferredDeletes {
  public:
    DeferredDeletes();
    ~DeferredDeletes();
    DeferredDeletes(const DeferredDeletes&) = delete;
    DeferredDeletes& operator=(const DeferredDeletes&) = delete;

  private:
    friend class Object;
    std::vector<Object*> objects_;
};

// One reference to a T.
template <class T>
class Ref {
  public:
    Ref() = default;
    // Takes over the reference which the caller holds.
    static Ref adopt(T* object) noexcept {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    static Ref share(T* object) noexcept {
        if (object) object->retain();
        return adopt(object);
    }
    Ref(const Ref& other) noexcept : object_(other.object_) {
        if (object_) object_->retain();
    }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_) object_->release();
    }

    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    // Hands the reference to the caller, as a C handle.
    T* detach() noexcept { return std::exchange(object_, nullptr); }

  private:
    T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make(Args&&... args) {
    return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace cupola
