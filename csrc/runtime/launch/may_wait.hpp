// csrc/runtime/launch/may_wait.hpp - whether a launch may wait, so that callers must release the
// GIL.
#pragma once

#include "runtime/context/stream.hpp"
#include "runtime/lifetime/callback.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Whether queueing `places` entries may wait, or does more than queue. True while a callback is
// pending: work behind the callback waits for it, and the callback may need the caller's GIL.
[[gnu::always_inline]] inline bool queue_may_wait(Stream& stream, int places = 1) {
    return stream.context.driver->instrumented.load(std::memory_order_relaxed) ||
           Flight::is_traced() || Callback::pending.load(std::memory_order_relaxed) ||
           !stream.flight.has_room(places);
}

// The first launch of a kernel may load its code.
[[gnu::always_inline]] inline bool launch_may_wait(const Kernel& kernel, Stream& stream) {
    return !kernel.launched() || queue_may_wait(stream);
}

}  // namespace cupola
