// csrc/cpu/user_object.hpp - what a program lends to graphs: counted, and told when nobody has it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class UserObject {
  public:
    UserObject(CUhostFn destroy, void* data, unsigned count)
        : destroy_(destroy), data_(data), programs_(count) {}

    CUuserObject handle() { return reinterpret_cast<CUuserObject>(this); }
    void retain(unsigned count);
    // INVALID_VALUE where the program has not so many of its own. With the last one the program is
    // told, on a thread of its own: it may take locks which the caller has.
    void release(unsigned count);
    // References that a graph is to have: new ones, or `move` of the program's own.
    void lend(unsigned count, bool move);
    // And when the graph lets go of them.
    void give_back(unsigned count) noexcept;

  private:
    void end() noexcept;

    const CUhostFn destroy_;
    void* const data_;
    std::mutex mutex_;
    std::uint64_t programs_, graphs_ = 0;  // who has how many
};

// References that a graph has, and each copy of it: they were lent.
class UserReferences {
  public:
    UserReferences(std::shared_ptr<UserObject> object, unsigned count)
        : object_(std::move(object)), count_(count) {}
    ~UserReferences() { object_->give_back(count_); }
    UserReferences(const UserReferences&) = delete;
    UserReferences& operator=(const UserReferences&) = delete;

    const UserObject* object() const { return object_.get(); }
    unsigned count() const { return count_; }
    // True where none is left.
    bool drop(unsigned count);

  private:
    const std::shared_ptr<UserObject> object_;
    unsigned count_;
};

}  // namespace cupola::cpu
