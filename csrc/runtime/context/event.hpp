// csrc/runtime/context/event.hpp - events, which are recorded in a stream.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupola/event.h"
#include "runtime/context/context.hpp"

namespace cupola {

class Event : public Object {
  public:
    Event(Context& context, unsigned flags);
    Event(Context& context, CUevent handle) : context(context), handle(handle) {}
    ~Event() override;

    Context& context;
    CUevent handle = nullptr;
    // The driver's number of the capture in which the event was last recorded, or 0.
    std::atomic<std::uint64_t> capture{0};
};

inline Event* unwrap(cupola_event* event) { return reinterpret_cast<Event*>(event); }
inline const Event* unwrap(const cupola_event* e) { return reinterpret_cast<const Event*>(e); }
inline cupola_event* wrap(Event* event) { return reinterpret_cast<cupola_event*>(event); }

}  // namespace cupola
