// csrc/cpu/device/stream/user_object.cpp - counts references and calls the destructor.
#include "cpu/device/stream/user_object.hpp"

#include <cstdio>

#include "cpu/base/thread.hpp"
#include "cpu/device/base/host_function.hpp"

namespace cupola::cpu {
namespace {

struct Farewell {
    CUhostFn function;
    void* data;
};

void* say(void* argument) {
    const std::unique_ptr<Farewell> farewell(static_cast<Farewell*>(argument));
    call_host([&] { farewell->function(farewell->data); });
    return nullptr;
}

}  // namespace

void UserObject::retain(unsigned count) {
    std::lock_guard lock(mutex_);
    programs_ += count;
}

void UserObject::release(unsigned count) {
    {
        std::lock_guard lock(mutex_);
        require(count > 0 && count <= programs_);
        programs_ -= count;
        if (programs_ + graphs_ > 0) return;
    }
    end();
}

void UserObject::add_graph_references(unsigned count, bool move) {
    std::lock_guard lock(mutex_);
    require(!move || count <= programs_);
    if (move) programs_ -= count;
    graphs_ += count;
}

void UserObject::remove_graph_references(unsigned count) noexcept {
    {
        std::lock_guard lock(mutex_);
        graphs_ -= count;
        if (programs_ + graphs_ > 0) return;
    }
    end();
}

// Graphs are destroyed in destructors, so no caller can receive an error.
void UserObject::end() noexcept {
    try {
        const auto keep = registry_.remove(this);
        auto farewell = std::make_unique<Farewell>(Farewell{destroy_, data_});
        if (start_thread(&say, farewell.get())) {
            // The new thread owns the object now.
            [[maybe_unused]] const Farewell* given = farewell.release();
            return;
        }
    } catch (...) {
    }
    std::fprintf(
        stderr,
        "cupola: a user object is not destroyed, because no thread could be started for its "
        "destructor\n");
}

bool UserReferences::drop(unsigned count) {
    require(count > 0 && count <= count_);
    if (count == count_) return true;
    object_->remove_graph_references(count);
    count_ -= count;
    return false;
}

}  // namespace cupola::cpu
