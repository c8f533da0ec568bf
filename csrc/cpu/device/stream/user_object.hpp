// csrc/cpu/device/stream/user_object.hpp - user objects: reference-counted objects of the program
// that graphs can hold.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/registry.hpp"

namespace cupola::cpu {

class UserObject {
  public:
    // The last release removes the object from the registry.
    UserObject(Registry<UserObject>& registry, CUhostFn destroy, void* data, unsigned count)
        : registry_(registry), destroy_(destroy), data_(data), programs_(count) {}

    CUuserObject handle() { return reinterpret_cast<CUuserObject>(this); }
    void retain(unsigned count);
    // Throws INVALID_VALUE if the program has fewer references. The last release calls the
    // program's destructor on another thread, because it may take locks that the caller holds.
    void release(unsigned count);
    // Gives references to a graph: new ones, or (`move`) those of the program.
    void add_graph_references(unsigned count, bool move);
    // Called when the graph releases its references.
    void remove_graph_references(unsigned count) noexcept;

  private:
    void end() noexcept;

    Registry<UserObject>& registry_;
    const CUhostFn destroy_;
    void* const data_;
    std::mutex mutex_;
    std::uint64_t programs_, graphs_ = 0;  // references of the program, and of graphs
};

// The references of a graph; each copy of the graph has its own.
class UserReferences {
  public:
    UserReferences(std::shared_ptr<UserObject> object, unsigned count)
        : object_(std::move(object)), count_(count) {}
    ~UserReferences() { object_->remove_graph_references(count_); }
    UserReferences(const UserReferences&) = delete;
    UserReferences& operator=(const UserReferences&) = delete;

    const UserObject* object() const { return object_.get(); }
    unsigned count() const { return count_; }
    // True if none is left.
    bool drop(unsigned count);

  private:
    const std::shared_ptr<UserObject> object_;
    unsigned count_;
};

}  // namespace cupola::cpu
