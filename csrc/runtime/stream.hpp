// csrc/runtime/stream.hpp - streams: queues of work of one device.
#pragma once

#include "runtime/context.hpp"
#include "runtime/flight.hpp"
#include "runtime/spare.hpp"

namespace cupola {

class Stream : public Object {
  public:
    Stream(Context& context, unsigned flags, int priority);
    // A stream that lives elsewhere. `release(owner)` is called at the end, where given.
    Stream(Context& context, CUstream handle, void* owner = nullptr,
           void (*release)(void*) = nullptr)
        : context(context),
          handle(handle),
          flight(context, handle),
          spare(*this),
          owner_(owner),
          release_(release) {}
    ~Stream() override;

    void synchronize();
    // Waits for what was queued on the other stream so far: on the device, or, where this one is
    // captured and the other is not, on the host.
    void follow(CUstream other);
    // A default stream is the one of whichever context is current; any other tells its context.
    bool needs_current() const noexcept {
        return reinterpret_cast<std::uintptr_t>(handle) <= 2;  // null, legacy, per thread
    }

    Context& context;
    CUstream handle = nullptr;
    Flight flight;
    Spare spare;

  private:
    bool owned_ = false;
    void* owner_ = nullptr;
    void (*release_)(void*) = nullptr;
};

// This thread's current stream of the device.
Stream& current_stream(Context& context);

inline Stream& stream_or_current(Stream* stream, Context& context) {
    return stream ? *stream : current_stream(context);
}

// The stream given, else the current one of the current device.
Stream& stream_of(cupola_stream* stream);

inline Stream* unwrap(cupola_stream* stream) { return reinterpret_cast<Stream*>(stream); }
inline const Stream* unwrap(const cupola_stream* s) { return reinterpret_cast<const Stream*>(s); }
inline cupola_stream* wrap(Stream* stream) { return reinterpret_cast<cupola_stream*>(stream); }

}  // namespace cupola
