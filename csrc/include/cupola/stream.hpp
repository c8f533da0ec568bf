// cupola/stream.hpp - streams: queues of work of one device.
#ifndef CUPOLA_STREAM_HPP
#define CUPOLA_STREAM_HPP

#include "cupola/event.hpp"
#include "cupola/stream.h"

namespace cupola {

class stream : public handle<cupola_stream, cupola_stream_retain, cupola_stream_release> {
  public:
    // flags: 0 or CUPOLA_STREAM_NON_BLOCKING; lower numbers are higher priorities.
    explicit stream(const device& device = cupola::device(), unsigned flags = 0, int priority = 0)
        : handle(create(device, flags, priority)) {}

    // This thread's current stream of the device.
    static stream current(const device& device = cupola::device()) {
        cupola_stream* out = nullptr;
        check(cupola_stream_current(device.ordinal(), &out));
        return stream(out);
    }

    void synchronize() const { check(cupola_stream_synchronize(get())); }
    bool done() const {
        int done = 0;
        check(cupola_stream_query(get(), &done));
        return done != 0;
    }
    void wait(const event& event) { check(cupola_stream_wait(get(), event.get())); }
    void* native() const noexcept { return cupola_stream_handle(get()); }  // CUstream

  private:
    explicit stream(cupola_stream* taken) noexcept : handle(taken) {}
    static cupola_stream* create(const device& device, unsigned flags, int priority) {
        cupola_stream* out = nullptr;
        check(cupola_stream_create(device.ordinal(), flags, priority, &out));
        return out;
    }
};

}  // namespace cupola

#endif  // CUPOLA_STREAM_HPP
