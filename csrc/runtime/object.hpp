// csrc/runtime/object.hpp - counted owners: what the opaque handles of cupola.h point to.
#pragma once

#include <atomic>
#include <utility>

namespace cupola {

// Base of everything behind an opaque handle. Destructors never throw (see driver_alive()).
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
    // Deletes it: at once, or, where that is inside a callback of the driver's, on a thread which
    // may call the driver.
    virtual void end() noexcept;

  protected:
    // Makes an object that is at its end somebody's again.
    Object* revive() noexcept {
        count_.store(1, std::memory_order_release);
        return this;
    }
    // Adds a reference where there is one.
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
