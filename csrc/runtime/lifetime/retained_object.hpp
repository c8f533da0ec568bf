// csrc/runtime/lifetime/retained_object.hpp - what the nodes of a graph refer to by a number alone:
// memory by its address, modules by their handle. All that is alive is listed, so that a graph can
// find and hold what its nodes use, whichever way they were made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/object.hpp"

namespace cupola {

class RetainedObject;

// What is held for somebody. Things may be put there that are let go by all others meanwhile.
struct RetainedObjects {
    RetainedObjects();
    ~RetainedObjects();
    RetainedObjects(const RetainedObjects&) = delete;
    RetainedObjects& operator=(const RetainedObjects&) = delete;

    void hold(Ref<Object> object);
    // Whether any box of the process holds such a thing. `what` must let go of nothing.
    static bool any_holds(const std::function<bool(const Object&)>& what);

    std::mutex mutex;
    std::vector<Ref<Object>> held;
};

// Addresses and handles, sorted.
using Numbers = std::vector<std::uint64_t>;

class RetainedObject : public Object {
  public:
    RetainedObject() = default;
    ~RetainedObject() override;

    // The last reference is gone: it ends, unless somebody is about to need it.
    void end() noexcept override;

    // Puts what the numbers mean into the box.
    static void hold(const Numbers& numbers, const std::shared_ptr<RetainedObjects>& box);
    // The one whose numbers begin with this one; null where it is not alive.
    static Ref<RetainedObject> find(std::uint64_t begin);
    // Adds a number of each that is alive.
    static void list_all(Numbers& numbers);
    // Between these nothing ends: a graph that is being made may turn out to use it.
    static void begin_deferred_release();
    static void end_deferred_release() noexcept;
    // Keeps the object as long; false, and it is still the caller's, where that is over already.
    static bool keep(Ref<Object>& object);

  protected:
    // Numbers from `begin` on mean it: for the end of a constructor.
    void register_range(std::uint64_t begin, std::size_t size);

  private:
    bool contains_any(const Numbers& numbers) const;
    void unlist() noexcept;

    std::uint64_t begin_ = 0;
    std::size_t size_ = 0;
    RetainedObject *previous_ = nullptr, *next_ = nullptr;
    bool listed_ = false;
    std::weak_ptr<RetainedObjects> wanted_;
};

}  // namespace cupola
