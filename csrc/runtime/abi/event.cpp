// csrc/runtime/abi/event.cpp - the functions of cupola/event.h.
#include "cupola/event.h"

#include <cstring>

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/context/event.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/profile/profile.hpp"

using namespace cupola;

namespace {

// The event is of another driver, so the stream's driver can't wait for it.
void wait_on_host(const Stream& stream, const Event& event) {
    if (stream.flight.capturing())
        fail(CUPOLA_ERROR_VALUE, "a captured stream of " + device_text(stream.context) +
                                     " can't wait for an event of " + device_text(event.context) +
                                     ": a graph has nodes of one driver");
    const ContextScope current(event.context);
    CUPOLA_CALL(event.context.driver, cuEventSynchronize, event.handle);
}

// A driver invalidates the capture, where one is running.
void refuse_captured(const Event& event, const char* what) {
    if (event.capture.load(std::memory_order_relaxed))
        fail(CUPOLA_ERROR_VALUE,
             std::string("the event was recorded in a captured stream: it is reached when the "
                         "graph runs, so it can't be ") +
                 what + "; record it again outside of the capture");
}

// A graph has no edges from work outside of the graph, or to such work. A driver invalidates the
// capture.
void refuse_outside(const Stream& stream, const Event& event) {
    const std::uint64_t capture = event.capture.load(std::memory_order_relaxed);
    if (capture && (!stream.handle || stream.handle == CU_STREAM_LEGACY))
        fail(CUPOLA_ERROR_VALUE,
             "the legacy default stream can't wait for an event that was recorded in a capture, "
             "since it can't be captured: use another cupola.Stream");
    const std::uint64_t id = Capture::id_of(stream);
    if (id && capture != id)
        fail(CUPOLA_ERROR_VALUE,
             "the stream is being captured, so it can't wait for work that its graph does not "
             "contain: wait for that work before the capture, or call other.wait(stream) first, "
             "so that the graph contains the other stream's work");
}

}  // namespace

int cupola_event_create(int device, unsigned flags, cupola_event** out) {
    return guard([&] {
        check_not_null(out, "out");
        if (flags &
            ~unsigned(CUPOLA_EVENT_BLOCKING | CUPOLA_EVENT_NO_TIMING | CUPOLA_EVENT_INTERPROCESS))
            fail(CUPOLA_ERROR_VALUE, "unknown event flags " + std::to_string(flags));
        unsigned cuda =
            (flags & CUPOLA_EVENT_BLOCKING ? CU_EVENT_BLOCKING_SYNC : 0) |
            (flags & CUPOLA_EVENT_NO_TIMING ? CU_EVENT_DISABLE_TIMING : 0) |
            (flags & CUPOLA_EVENT_INTERPROCESS ? CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING
                                               : 0);
        *out = wrap(make<Event>(context(device), cuda).detach());
    });
}

int cupola_event_export(cupola_event* event, unsigned char handle[64]) {
    return guard([&] {
        Event& e = *unwrap(check_not_null(event, "event"));
        check_not_null(handle, "handle");
        ContextScope current(e.context);
        CUipcEventHandle made{};
        static_assert(sizeof made == 64, "as cupola.h says");
        const CUresult code = e.context.driver->cuIpcGetEventHandle(&made, e.handle);
        if (code == CUDA_ERROR_INVALID_HANDLE || code == CUDA_ERROR_INVALID_VALUE)
            fail_driver(e.context.driver, code, "cuIpcGetEventHandle",
                        "the event was not created as interprocess");
        check(e.context.driver, code, "cuIpcGetEventHandle");
        std::memcpy(handle, &made, sizeof made);
    });
}

int cupola_event_import(int device, const unsigned char handle[64], cupola_event** out) {
    return guard([&] {
        check_not_null(handle, "handle");
        check_not_null(out, "out");
        Context& c = context(device);
        ContextScope current(c);
        CUipcEventHandle given{};
        std::memcpy(&given, handle, sizeof given);
        CUevent opened = nullptr;
        const CUresult code = c.driver->cuIpcOpenEventHandle(&opened, given);
        if (code != CUDA_SUCCESS)
            fail_driver(c.driver, code, "cuIpcOpenEventHandle",
                        "open a handle in another process than the one that made it, while "
                        "that process still has the event");
        *out = wrap(make<Event>(c, opened).detach());
    });
}

int cupola_event_record(cupola_event* event, cupola_stream* stream) {
    return guard([&] {
        Event& e = *unwrap(check_not_null(event, "event"));
        Stream& s = stream_or_current(unwrap(stream), e.context);
        // All default streams have the same handle: the driver would record on the event's own
        // device.
        if (&s.context != &e.context)
            fail(CUPOLA_ERROR_VALUE, "the event is of " + device_text(e.context) +
                                         ", the stream of " + device_text(s.context));
        Capture::require_usable(s);
        ContextScope current(e.context);
        CUPOLA_CALL(e.context.driver, cuEventRecord, e.handle, s.handle);
        e.capture.store(Capture::id_of(s), std::memory_order_relaxed);
    });
}

int cupola_event_synchronize(cupola_event* event) {
    const Output::Wait wait;
    return guard([&] {
        Event& e = *unwrap(check_not_null(event, "event"));
        refuse_captured(e, "waited for");
        ContextScope current(e.context);
        const RelaxedCapture relaxed(e.context.driver);  // captures of streams go on
        const Span span(CUPOLA_PROFILE_WAIT, "wait for the event", nullptr);
        CUPOLA_CALL(e.context.driver, cuEventSynchronize, e.handle);
    });
}

int cupola_event_query(cupola_event* event, int* done) {
    const Output::Wait wait;
    return guard([&] {
        Event& e = *unwrap(check_not_null(event, "event"));
        check_not_null(done, "done");
        refuse_captured(e, "queried");
        ContextScope current(e.context);
        const RelaxedCapture relaxed(e.context.driver);
        CUresult code = e.context.driver->cuEventQuery(e.handle);
        if (code != CUDA_ERROR_NOT_READY) check(e.context.driver, code, "cuEventQuery");
        *done = code == CUDA_SUCCESS;
    });
}

int cupola_event_elapsed(cupola_event* start, cupola_event* stop, double* seconds) {
    return guard([&] {
        Event& from = *unwrap(check_not_null(start, "start"));
        Event& to = *unwrap(check_not_null(stop, "stop"));
        check_not_null(seconds, "seconds");
        if (!is_same_driver(from.context, to.context))
            fail(CUPOLA_ERROR_VALUE, "no time can be measured between an event of " +
                                         device_text(from.context) + " and one of " +
                                         device_text(to.context) + ": their drivers differ");
        for (const Event* event : {&from, &to}) refuse_captured(*event, "used to measure a time");
        const DriverLink& driver = to.context.driver;
        ContextScope current(to.context);
        float milliseconds = 0;
        CUresult code = driver->cuEventElapsedTime(&milliseconds, from.handle, to.handle);
        if (code == CUDA_ERROR_NOT_READY)
            fail_driver(driver, code, "cuEventElapsedTime",
                        "an event has not been reached yet: synchronize it first");
        if (code == CUDA_ERROR_INVALID_HANDLE)
            fail_driver(driver, code, "cuEventElapsedTime",
                        "both events must be recorded, and created with timing");
        check(driver, code, "cuEventElapsedTime");
        *seconds = milliseconds * 1e-3;
    });
}

void* cupola_event_handle(const cupola_event* event) {
    return event ? unwrap(event)->handle : nullptr;
}
int cupola_event_device(const cupola_event* event) {
    return event ? unwrap(event)->context.ordinal : -1;
}
void cupola_event_retain(cupola_event* event) {
    if (event) unwrap(event)->retain();
}
void cupola_event_release(cupola_event* event) {
    if (event) unwrap(event)->release();
}

int cupola_stream_wait(cupola_stream* stream, cupola_event* event) {
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        const Event& e = *unwrap(check_not_null(event, "event"));
        if (!is_same_driver(s.context, e.context)) return wait_on_host(s, e);
        refuse_outside(s, e);
        Capture::require_usable(s);
        ContextScope current(s.context);
        CUPOLA_CALL(s.context.driver, cuStreamWaitEvent, s.handle, e.handle, 0);
    });
}
