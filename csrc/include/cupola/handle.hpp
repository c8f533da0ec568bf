// cupola/handle.hpp - an owner of one reference to a C ABI object.
#ifndef CUPOLA_HANDLE_HPP
#define CUPOLA_HANDLE_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cupola/error.hpp"

namespace cupola {

template <class T, void (*Retain)(T*), void (*Release)(T*)>
class handle {
  public:
    handle() noexcept = default;
    // Takes over the reference which the caller holds.
    explicit handle(T* object) noexcept : object_(object) {}
    handle(const handle& other) noexcept : object_(other.object_) {
        if (object_) Retain(object_);
    }
    handle(handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    handle& operator=(handle other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~handle() { Release(object_); }

    T* get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    T* object_ = nullptr;
};

}  // namespace cupola

#endif  // CUPOLA_HANDLE_HPP
