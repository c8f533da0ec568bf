// csrc/runtime/context/stream.cpp - streams, and each thread's current stream.
#include "runtime/context/stream.hpp"

#include <vector>

#include "runtime/context/work_observer.hpp"
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

// Whether the thread ever pushed a stream. A read of this flag is cheaper than of the vector: with
// initial-exec, its address is known at load time.
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
    ContextScope current(context);
    CUstream handle = nullptr;
    CUPOLA_CALL(context.driver, cuStreamCreateWithPriority, &handle, flags, priority);
    return handle;
}

}  // namespace

Stream::Stream(Context& context, unsigned flags, int priority)
    : Stream(context, create(context, flags, priority)) {
    owned_ = true;
    if (context.pool) free_list.open();
}

Stream::~Stream() {
    // Queued work still runs: cuStreamDestroy returns immediately, and the driver frees the stream
    // later.
    if (owned_) {
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        free_list.close();
        if (const Driver* d = context.driver.alive()) d->cuStreamDestroy(handle);
    }
    if (release_) release_(owner_);
}

void Stream::synchronize() {
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);  // must not invalidate another stream's capture
    if (WorkObserver* observer = WorkObserver::of(context.driver)) observer->refuse();
    const std::uint64_t before = flight.head();
    CUPOLA_CALL(context.driver, cuStreamSynchronize, handle);
    flight.done(before);
}

void Stream::follow(CUstream other) {
    const auto legacy = [](CUstream stream) { return !stream || stream == CU_STREAM_LEGACY; };
    if (other == handle || (legacy(other) && legacy(handle))) return;
    const ContextScope current(context);
    if (WorkObserver* observer = WorkObserver::of(context.driver)) observer->refuse();
    CUstreamCaptureStatus theirs = CU_STREAM_CAPTURE_STATUS_NONE;
    if (any_capture() && flight.capturing() &&
        context.driver->cuStreamIsCapturing(other, &theirs) == CUDA_SUCCESS &&
        theirs == CU_STREAM_CAPTURE_STATUS_NONE) {
        const RelaxedCapture relaxed(context.driver);
        CUPOLA_CALL(context.driver, cuStreamSynchronize, other);
        return;
    }
    // A queued wait refers to the record made before it, so one event serves all waits. Querying
    // the other stream first costs more: the next launch takes 2 us longer.
    std::lock_guard<std::mutex> lock(context.join_mutex);
    if (!context.join)
        CUPOLA_CALL(context.driver, cuEventCreate, &context.join, CU_EVENT_DISABLE_TIMING);
    CUPOLA_CALL(context.driver, cuEventRecord, context.join, other);
    CUPOLA_CALL(context.driver, cuStreamWaitEvent, handle, context.join, 0);
}

[[gnu::hot]] Stream& current_stream(Context& context) {
    if (__builtin_expect(!ever_pushed, 1)) return *context.default_stream;
    return current_of_pushed(context);
}

void push_stream(Stream& stream) {
    pushed().push_back(Ref<Stream>::share(&stream));
    ever_pushed = true;
}

void pop_stream(const Stream* stream) {
    auto& streams = pushed();
    if (streams.empty() || streams.back().get() != stream)
        fail(CUPOLA_ERROR_VALUE, "this stream is not the one that was made current last");
    streams.pop_back();
}

}  // namespace cupola
