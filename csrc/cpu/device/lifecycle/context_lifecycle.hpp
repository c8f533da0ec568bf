// csrc/cpu/device/lifecycle/context_lifecycle.hpp - opens a context, and closes it with all that
// belongs to it.
#pragma once

namespace cupola::cpu {

class Context;

// A primary context's object survives release and retain, so its handle stays the same.
void open_context(Context& context, unsigned flags);
// Stops running work and drops queued work, so that this returns soon.
void close_context(Context& context);

}  // namespace cupola::cpu
