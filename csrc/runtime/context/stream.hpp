// csrc/runtime/context/stream.hpp - streams: queues of work of one device.
#pragma once

#include "cupola/stream.h"
#include "runtime/context/context.hpp"
#include "runtime/context/flight.hpp"
#include "runtime/context/stream_free_list.hpp"

namespace cupola {

class Stream : public Object {
  public:
    Stream(Context& context, unsigned flags, int priority);
    // A stream owned by other code. The destructor calls `release(owner)` where it is given.
    Stream(Context& context, CUstream handle, void* owner = nullptr,
           void (*release)(void*) = nullptr)
        : context(context),
          handle(handle),
          flight(context, handle),
          free_list(context, handle),
          owner_(owner),
          release_(release) {}
    ~Stream() override;

    void synchronize();
    // Makes later work of this stream wait for the work queued on `other` so far. If this stream is
    // captured and `other` is not, the host waits instead: a graph can't depend on work outside
    // its capture.
    void follow(CUstream other);
    // A default stream's handle means the current context's; any other handle implies its context.
    bool needs_current() const noexcept {
        return reinterpret_cast<std::uintptr_t>(handle) <= 2;  // null, legacy, per thread
    }

    Context& context;
    CUstream handle = nullptr;
    Flight flight;
    StreamFreeList free_list;

  private:
    bool owned_ = false;
    void* owner_ = nullptr;
    void (*release_)(void*) = nullptr;
};

// This thread's current stream of the device: the last one pushed, or the legacy default stream.
Stream& current_stream(Context& context);
void push_stream(Stream& stream);
void pop_stream(const Stream* stream);  // throws unless it was pushed last

inline Stream& stream_or_current(Stream* stream, Context& context) {
    return stream ? *stream : current_stream(context);
}

inline Stream* unwrap(cupola_stream* stream) { return reinterpret_cast<Stream*>(stream); }
inline const Stream* unwrap(const cupola_stream* s) { return reinterpret_cast<const Stream*>(s); }
inline cupola_stream* wrap(Stream* stream) { return reinterpret_cast<cupola_stream*>(stream); }

}  // namespace cupola
