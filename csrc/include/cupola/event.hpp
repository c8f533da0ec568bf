// cupola/event.hpp - events, which are recorded in a stream.
#ifndef CUPOLA_EVENT_HPP
#define CUPOLA_EVENT_HPP

#include "cupola/device.hpp"
#include "cupola/event.h"
#include "cupola/handle.hpp"

namespace cupola {

class event : public handle<cupola_event, cupola_event_retain, cupola_event_release> {
  public:
    explicit event(const device& device = cupola::device(), unsigned flags = 0)
        : handle(create(device, flags)) {}

    void record(cupola_stream* stream = nullptr) { check(cupola_event_record(get(), stream)); }
    void synchronize() const { check(cupola_event_synchronize(get())); }
    bool done() const {
        int done = 0;
        check(cupola_event_query(get(), &done));
        return done != 0;
    }
    double elapsed_since(const event& start) const {  // seconds
        double seconds = 0;
        check(cupola_event_elapsed(start.get(), get(), &seconds));
        return seconds;
    }

  private:
    static cupola_event* create(const device& device, unsigned flags) {
        cupola_event* out = nullptr;
        check(cupola_event_create(device.ordinal(), flags, &out));
        return out;
    }
};

}  // namespace cupola

#endif  // CUPOLA_EVENT_HPP
