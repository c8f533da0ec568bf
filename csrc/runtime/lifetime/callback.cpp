// csrc/runtime/lifetime/callback.cpp - runs callbacks and counts them.
#include "runtime/lifetime/callback.hpp"

namespace cupola {

std::atomic<int> Callback::pending{0};

void Callback::expect() noexcept {
    retain();
    pending.fetch_add(1);
}

void Callback::give_up() noexcept {
    pending.fetch_sub(1);
    release();
}

void Callback::run(void* callback) {
    {
        const DeferredDeletes deferred;
        auto* self = static_cast<Callback*>(callback);
        self->call_(self->get());
        self->release();
    }
    pending.fetch_sub(1);
}

}  // namespace cupola
