// csrc/runtime/stream.cpp - streams, and which is current in this thread.
#include "runtime/stream.hpp"

#include <vector>

#include "runtime/capture.hpp"
#include "runtime/event.hpp"
#include "runtime/profile.hpp"

namespace cupola {
namespace {

// A look at this one costs less than at the vector: its place is known when the library is loaded.
[[gnu::tls_model("initial-exec")]] thread_local bool ever_pushed = false;

std::vector<Ref<Stream>>& pushed() {
    thread_local std::vector<Ref<Stream>> streams;
    return streams;
}

[[gnu::cold]] Stream& current_of_pushed(Context& context) {
    auto& streams = pushed();
    for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream)
        if (&(*stream)->context == &context) return **stream;
    return *context.default_stream;
}

CUstream create(const Context& context, unsigned flags, int priority) {
    Current current(context);
    CUstream handle = nullptr;
    CUPOLA_CALL(cuStreamCreateWithPriority, &handle, flags, priority);
    return handle;
}

}  // namespace

Stream::Stream(Context& context, unsigned flags, int priority)
    : Stream(context, create(context, flags, priority)) {
    owned_ = true;
    if (context.pool) spare.open();
}

Stream::~Stream() {
    // Queued work still runs: cuStreamDestroy returns at once and frees the stream after it.
    if (owned_) {
        const Capture::Relaxed relaxed(Capture::Relaxed::anybodys);
        spare.close();
        if (const Driver* d = driver_alive()) d->cuStreamDestroy(handle);
    }
    if (release_) release_(owner_);
}

void Stream::synchronize() {
    Current current(context);
    const Capture::Relaxed relaxed;  // another stream's capture goes on
    const std::uint64_t before = flight.head();
    const Span span(CUPOLA_PROFILE_WAIT, "wait for the stream", nullptr);
    CUPOLA_CALL(cuStreamSynchronize, handle);
    flight.done(before);
}

void Stream::follow(CUstream other) {
    const auto legacy = [](CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; };
    if (other == handle || (legacy(other) && legacy(handle))) return;
    const Current current(context);
    CUstreamCaptureStatus theirs = CU_STREAM_CAPTURE_STATUS_NONE;
    if (Capture::of(*this) && driver().cuStreamIsCapturing(other, &theirs) == CUDA_SUCCESS &&
        theirs == CU_STREAM_CAPTURE_STATUS_NONE) {
        const Capture::Relaxed relaxed;
        CUPOLA_CALL(cuStreamSynchronize, other);
        return;
    }
    // A wait keeps what was recorded when it was queued, so one event serves all of them. To ask
    // first whether the other stream is done costs more: the next launch then takes 2 us longer.
    std::lock_guard<std::mutex> lock(context.join_mutex);
    if (!context.join) CUPOLA_CALL(cuEventCreate, &context.join, CU_EVENT_DISABLE_TIMING);
    CUPOLA_CALL(cuEventRecord, context.join, other);
    CUPOLA_CALL(cuStreamWaitEvent, handle, context.join, 0);
}

[[gnu::hot]] Stream& current_stream(Context& context) {
    if (__builtin_expect(!ever_pushed, 1)) return *context.default_stream;
    return current_of_pushed(context);
}

Stream& stream_of(cupola_stream* stream) {
    return stream ? *unwrap(stream) : current_stream(context(current_device()));
}

}  // namespace cupola

using namespace cupola;

int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out) {
    return guard([&] {
        required(out, "out");
        if (flags & ~unsigned(CUPOLA_STREAM_NON_BLOCKING))
            fail(CUPOLA_ERROR_VALUE, "unknown stream flags " + std::to_string(flags));
        unsigned cuda = flags & CUPOLA_STREAM_NON_BLOCKING ? CU_STREAM_NON_BLOCKING : 0;
        *out = wrap(make<Stream>(context(device), cuda, priority).detach());
    });
}

int cupola_stream_priorities(int device, int* least, int* greatest) {
    return guard([&] {
        Current current(context(device));
        CUPOLA_CALL(cuCtxGetStreamPriorityRange, required(least, "least"),
                    required(greatest, "greatest"));
    });
}

int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags) {
    return guard([&] {
        Stream& s = *unwrap(required(stream, "stream"));
        Current current(s.context);
        CUPOLA_CALL(cuStreamGetPriority, s.handle, required(priority, "priority"));
        unsigned cuda = 0;
        CUPOLA_CALL(cuStreamGetFlags, s.handle, &cuda);
        *required(flags, "flags") = cuda & CU_STREAM_NON_BLOCKING ? CUPOLA_STREAM_NON_BLOCKING : 0;
    });
}

int cupola_stream_wrap(int device, void* handle, void* owner, void (*release)(void*),
                       cupola_stream** out) {
    return guard([&] {
        required(out, "out");
        auto* stream = static_cast<CUstream>(handle);
        *out = wrap(make<Stream>(context(device), stream, owner, release).detach());
    });
}

int cupola_stream_current(int device, cupola_stream** out) {
    return guard([&] {
        required(out, "out");
        *out = wrap(Ref<Stream>::share(&current_stream(context(device))).detach());
    });
}

int cupola_stream_peek(int device, cupola_stream** out) {
    return guard([&] { *required(out, "out") = wrap(&current_stream(context(device))); });
}

int cupola_stream_push(cupola_stream* stream) {
    return guard([&] {
        pushed().push_back(Ref<Stream>::share(unwrap(required(stream, "stream"))));
        ever_pushed = true;
    });
}

int cupola_stream_pop(cupola_stream* stream) {
    return guard([&] {
        auto& streams = pushed();
        if (streams.empty() || streams.back().get() != unwrap(stream))
            fail(CUPOLA_ERROR_VALUE, "this stream is not the one that was made current last");
        streams.pop_back();
    });
}

int cupola_stream_synchronize(cupola_stream* stream) {
    return guard([&] {
        Stream& s = *unwrap(required(stream, "stream"));
        Capture::refuse(s, "waited for");
        s.synchronize();
    });
}

int cupola_stream_query(cupola_stream* stream, int* done) {
    return guard([&] {
        Stream& s = *unwrap(required(stream, "stream"));
        required(done, "done");
        Capture::refuse(s, "asked whether it is done");
        Current current(s.context);
        const Capture::Relaxed relaxed;
        const std::uint64_t before = s.flight.head();
        CUresult code = driver().cuStreamQuery(s.handle);
        if (code != CUDA_ERROR_NOT_READY) check(code, "cuStreamQuery");
        *done = code == CUDA_SUCCESS;
        if (*done) s.flight.done(before);
    });
}

int cupola_stream_wait(cupola_stream* stream, cupola_event* event) {
    return guard([&] {
        Stream& s = *unwrap(required(stream, "stream"));
        Current current(s.context);
        CUPOLA_CALL(cuStreamWaitEvent, s.handle, unwrap(required(event, "event"))->handle, 0);
    });
}

int cupola_stream_follow(cupola_stream* stream, void* handle) {
    return guard(
        [&] { unwrap(required(stream, "stream"))->follow(static_cast<CUstream>(handle)); });
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
