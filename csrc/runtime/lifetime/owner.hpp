// csrc/runtime/lifetime/owner.hpp - objects of other code that objects of the library keep alive.
#pragma once

#include "runtime/base/object.hpp"

namespace cupola {

// An object of other code: the destructor calls `release(owner)`. The owners of a process are
// listed, so that a garbage collector can ask for their references.
class Owner : public Object {
  public:
    Owner(void* owner, void (*release)(void*));
    ~Owner() override;

    // The caller keeps the object: `release` is not called.
    void disown() noexcept;
    // The number of references to the Owner of this object; 0 where it has no Owner.
    static long references_of(const void* owner);

    void* get() const noexcept { return owner_; }
    void (*release_function() const noexcept)(void*) { return release_; }

  private:
    void unlist() noexcept;

    void* owner_;
    void (*release_)(void*);
};

}  // namespace cupola
