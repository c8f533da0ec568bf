// csrc/runtime/abi/stream.cpp - the functions of cupola/stream.h.
#include "cupola/stream.h"

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/context/event.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/profile/profile.hpp"

using namespace cupola;

int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out) {
    return guard([&] {
        check_not_null(out, "out");
        if (flags & ~unsigned(CUPOLA_STREAM_NON_BLOCKING))
            fail(CUPOLA_ERROR_VALUE, "unknown stream flags " + std::to_string(flags));
        unsigned cuda = flags & CUPOLA_STREAM_NON_BLOCKING ? CU_STREAM_NON_BLOCKING : 0;
        *out = wrap(make<Stream>(context(device), cuda, priority).detach());
    });
}

int cupola_stream_priorities(int device, int* least, int* greatest) {
    return guard([&] {
        const Context& c = context(device);
        ContextScope current(c);
        CUPOLA_CALL(c.driver, cuCtxGetStreamPriorityRange, check_not_null(least, "least"),
                    check_not_null(greatest, "greatest"));
    });
}

int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags) {
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        ContextScope current(s.context);
        CUPOLA_CALL(s.context.driver, cuStreamGetPriority, s.handle,
                    check_not_null(priority, "priority"));
        unsigned cuda = 0;
        CUPOLA_CALL(s.context.driver, cuStreamGetFlags, s.handle, &cuda);
        *check_not_null(flags, "flags") =
            cuda & CU_STREAM_NON_BLOCKING ? CUPOLA_STREAM_NON_BLOCKING : 0;
    });
}

int cupola_stream_wrap(int device, void* handle, void* owner, void (*release)(void*),
                       cupola_stream** out) {
    return guard([&] {
        check_not_null(out, "out");
        auto* stream = static_cast<CUstream>(handle);
        *out = wrap(make<Stream>(context(device), stream, owner, release).detach());
    });
}

int cupola_stream_current(int device, cupola_stream** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(Ref<Stream>::share(&current_stream(context(device))).detach());
    });
}

int cupola_stream_peek(int device, cupola_stream** out) {
    return guard([&] { *check_not_null(out, "out") = wrap(&current_stream(context(device))); });
}

int cupola_stream_push(cupola_stream* stream) {
    return guard([&] { push_stream(*unwrap(check_not_null(stream, "stream"))); });
}

int cupola_stream_pop(cupola_stream* stream) {
    return guard([&] { pop_stream(unwrap(stream)); });
}

int cupola_stream_synchronize(cupola_stream* stream) {
    const Output::Wait wait;
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        Capture::refuse(s,
                        "waited for; captured work runs in order without a wait: synchronize after "
                        "the graph was launched");
        synchronize(s);
    });
}

int cupola_stream_query(cupola_stream* stream, int* done) {
    const Output::Wait wait;
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        check_not_null(done, "done");
        Capture::refuse(s, "queried; ask after the graph was launched");
        ContextScope current(s.context);
        const RelaxedCapture relaxed(s.context.driver);
        const std::uint64_t before = s.flight.head();
        CUresult code = s.context.driver->cuStreamQuery(s.handle);
        if (code != CUDA_ERROR_NOT_READY) check(s.context.driver, code, "cuStreamQuery");
        *done = code == CUDA_SUCCESS;
        if (*done) s.flight.done(before);
    });
}

int cupola_stream_follow(cupola_stream* stream, void* handle) {
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        Capture::require_usable(s);
        Capture::require_usable(s.context, static_cast<CUstream>(handle));
        s.follow(static_cast<CUstream>(handle));
    });
}

void* cupola_stream_handle(const cupola_stream* stream) {
    return stream ? unwrap(stream)->handle : nullptr;
}
int cupola_stream_device(const cupola_stream* stream) {
    return stream ? unwrap(stream)->context.ordinal : -1;
}
void cupola_stream_retain(cupola_stream* stream) {
    if (stream) unwrap(stream)->retain();
}
void cupola_stream_release(cupola_stream* stream) {
    if (stream) unwrap(stream)->release();
}

int cupola_stream_call(cupola_stream* stream, void (*call)(void*), void* data,
                       void (*release)(void*)) {
    return guard([&] {
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        check_not_null(reinterpret_cast<void*>(call), "call");
        ContextScope current(s.context);
        Capture::require_usable(s);
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUPOLA_CALL(s.context.driver, cuStreamIsCapturing, s.handle, &status);
        const auto capture = Capture::of(s);
        if (status != CU_STREAM_CAPTURE_STATUS_NONE && !capture)
            fail(CUPOLA_ERROR_VALUE,
                 "the stream is being captured: a function can't be held by the graph of another "
                 "library");
        auto callback = make<Callback>(call, data, release);
        if (capture) {
            CUresult code =
                s.context.driver->cuLaunchHostFunc(s.handle, &Callback::run, callback.get());
            if (code != CUDA_SUCCESS) {
                callback->disown();
                fail_driver(s.context.driver, code, "cuLaunchHostFunc");
            }
            std::lock_guard<std::mutex> lock(capture->retained->mutex);
            capture->calls.push_back(std::move(callback));
            return;
        }
        callback->expect();
        CUresult code =
            s.context.driver->cuLaunchHostFunc(s.handle, &Callback::run, callback.get());
        if (code == CUDA_SUCCESS) return;
        callback->disown();
        callback->give_up();
        fail_driver(s.context.driver, code, "cuLaunchHostFunc");
    });
}

int cupola_callbacks_pending(void) { return Callback::pending.load(std::memory_order_acquire); }
void cupola_callbacks_hold(void) { Callback::pending.fetch_add(1); }
void cupola_callbacks_drop(void) { Callback::pending.fetch_sub(1); }
