// csrc/runtime/lifetime/retained_object.hpp - objects that graph nodes refer to by a number.
//
// The number is an address of memory or the handle of a module. All live objects are listed, so
// that a graph can find and keep alive those that its nodes use, however the nodes were made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/object.hpp"

namespace cupola {

class RetainedObject;

// Objects that a graph keeps alive. An object whose last other reference goes may still be added.
struct RetainedObjects {
    RetainedObjects();
    ~RetainedObjects();
    RetainedObjects(const RetainedObjects&) = delete;
    RetainedObjects& operator=(const RetainedObjects&) = delete;

    void hold(Ref<Object> object);
    // Whether any set in the process holds an object that `what` accepts. `what` must release
    // nothing.
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

    // A number that refers to the object; 0 where no number does.
    std::uint64_t number() const { return begin_; }
    // Called after the last reference: deletes it, unless a graph is about to keep it.
    void end() noexcept override;

    // Adds the objects that the numbers refer to.
    static void hold(const Numbers& numbers, const std::shared_ptr<RetainedObjects>& retained);
    // The live object whose range begins at this number; null where no range begins there.
    static Ref<RetainedObject> find(std::uint64_t begin);
    // The range of the live object that the number refers to; false where there is none.
    static bool find_range(std::uint64_t number, std::uint64_t& begin, std::size_t& size);
    // Adds a number of each live object.
    static void list_all(Numbers& numbers);
    // Between these calls no object is deleted: a graph that is being built may use it.
    static void begin_deferred_release();
    static void end_deferred_release() noexcept;
    // Keeps the object until then. Returns false, and leaves it to the caller, outside these calls.
    static bool keep(Ref<Object>& object);

  protected:
    // Numbers in [begin, begin + size) refer to it. Call it last in a constructor.
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
