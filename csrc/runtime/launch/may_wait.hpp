// csrc/runtime/launch/may_wait.hpp - what makes a launch wait, so that the caller has to let its
// lock go.
#pragma once

#include "runtime/context/stream.hpp"
#include "runtime/lifetime/callback.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Whether work that takes so many places may have to wait, or asks for more than to be queued. A
// callback may want the very lock that the caller holds, and work behind it waits for it.
[[gnu::always_inline]] inline bool queue_may_wait(Stream& stream, int places = 1) {
    return driver().instrumented.load(std::memory_order_relaxed) || Flight::is_traced() ||
           Callback::pending.load(std::memory_order_relaxed) || !stream.flight.has_room(places);
}

// The first launch of a kernel may load its code.
[[gnu::always_inline]] inline bool launch_may_wait(const Kernel& kernel, Stream& stream) {
    return !kernel.launched() || queue_may_wait(stream);
}

}  // namespace cupola
