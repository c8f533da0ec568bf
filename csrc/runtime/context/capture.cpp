// csrc/runtime/context/capture.cpp - begins and ends captures.
#include "runtime/context/capture.hpp"

#include <algorithm>

namespace cupola {

namespace {

struct Captures {
    std::mutex mutex;
    std::vector<std::shared_ptr<Capture>> all;
};

Captures& captures() {
    static Captures* const all = new Captures;
    return *all;
}

// 0 where the stream is not capturing, or can't be queried.
std::uint64_t capture_id(const Stream& stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUresult code = stream.context.driver->cuStreamGetCaptureInfo(stream.handle, &status, &id,
                                                                        nullptr, nullptr, nullptr);
    return code == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

const char* reason(CUresult code) {
    switch (code) {
        case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
            return "a call was made that a capture does not allow, such as waiting for the "
                   "stream";
        case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
            return "another stream took part, and this one did not wait for it again before the "
                   "end";
        case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
            return "the thread that began it must end it";
        default:
            return "";
    }
}

}  // namespace

void Capture::begin(Stream& stream, CUstreamCaptureMode mode) {
    if (stream.handle == nullptr || stream.handle == CU_STREAM_LEGACY)
        fail(CUPOLA_ERROR_VALUE,
             "the legacy default stream can't be captured: use another cupola.Stream");
    refuse(stream, "captured twice; end its capture first, or capture another stream");
    ContextScope current(stream.context);
    side_stream(stream.context);
    auto capture = std::make_shared<Capture>();
    capture->origin = Ref<Stream>::share(&stream);
    std::lock_guard<std::shared_mutex> open(capture_gate());
    const CUresult code = stream.context.driver->cuStreamBeginCapture(stream.handle, mode);
    if (code == CUDA_ERROR_ILLEGAL_STATE)
        fail_driver(stream.context.driver, code, "cuStreamBeginCapture",
                    "the stream is being captured already");
    check(stream.context.driver, code, "cuStreamBeginCapture");
    capture->id = capture_id(stream);
    std::lock_guard<std::mutex> lock(captures().mutex);
    captures().all.push_back(std::move(capture));
    RetainedObject::begin_deferred_release();
    running_captures.fetch_add(1);
    Flight::watch_captures(true);
    instrument(Driver::beside_capture, true);
}

void Capture::end(Stream& stream, const std::function<void(Capture&, CUgraph)>& take) {
    Captures& all = captures();
    std::shared_ptr<Capture> capture;
    {
        std::lock_guard<std::mutex> lock(all.mutex);
        const auto it = std::find_if(all.all.begin(), all.all.end(), [&](const auto& each) {
            return each->origin->handle == stream.handle &&
                   &each->origin->context == &stream.context;
        });
        if (it == all.all.end() || (*it)->ending)
            fail(CUPOLA_ERROR_VALUE, "this stream has no capture to end");
        capture = *it;
        capture->ending = true;  // only one thread may end the capture
    }
    struct Finish {
        Captures& all;
        std::shared_ptr<Capture>& capture;
        bool keep = false;
        ~Finish() {
            {
                std::lock_guard<std::mutex> lock(all.mutex);
                capture->ending = false;
                if (keep) return;
                all.all.erase(std::find(all.all.begin(), all.all.end(), capture));
                if (all.all.empty()) instrument(Driver::beside_capture, false);
            }
            running_captures.fetch_sub(1);
            Flight::watch_captures(false);
            RetainedObject::end_deferred_release();
        }
    } finish{all, capture};
    ContextScope current(stream.context);
    CUgraph handle = nullptr;
    const CUresult code = stream.context.driver->cuStreamEndCapture(stream.handle, &handle);
    finish.keep = code == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (code != CUDA_SUCCESS)
        fail_driver(stream.context.driver, code, "cuStreamEndCapture", reason(code));
    take(*capture, handle);
}

namespace {

// Drivers number their captures independently.
bool is_of(const Capture& capture, const Driver& driver) {
    return capture.origin->context.driver.alive() == &driver;
}

}  // namespace

std::shared_ptr<Capture> Capture::find(const Stream& stream) {
    ContextScope current(stream.context);
    const std::uint64_t id = capture_id(stream);
    if (!id) return nullptr;
    std::lock_guard<std::mutex> lock(captures().mutex);
    for (const auto& capture : captures().all)
        if (capture->id == id && is_of(*capture, stream.context.driver)) return capture;
    return nullptr;
}

const char* const Capture::without_contents =
    "memory that a running capture allocated, on a stream that takes no part in the capture: the "
    "work would run now, and the memory has no contents before the graph is launched; use the "
    "captured stream, call stream.wait(captured_stream) so that this stream takes part, or "
    "allocate the memory before the capture";

void Capture::fail_without_contents() {
    fail(CUPOLA_ERROR_VALUE, std::string("can't use ") + without_contents);
}

void Capture::note(const Stream& stream, std::uint64_t begin, std::size_t size) {
    const auto capture = of(stream);
    std::lock_guard<std::mutex> lock(captures().mutex);
    if (capture) capture->allocations[begin] = size;
}

bool Capture::is_allocation(std::uint64_t number) {
    std::lock_guard<std::mutex> lock(captures().mutex);
    for (const auto& capture : captures().all) {
        const auto next = capture->allocations.upper_bound(number);
        if (next == capture->allocations.begin()) continue;
        const auto& [begin, size] = *std::prev(next);
        if (number - begin < size) return true;
    }
    return false;
}

void Capture::check_legacy(const Context& context, CUstream stream) {
    if (stream != nullptr && stream != CU_STREAM_LEGACY) return;
    const ContextScope current(context);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (context.driver->cuStreamIsCapturing(stream, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        fail(CUPOLA_ERROR_VALUE,
             "the legacy default stream of " + device_text(context) +
                 " can't be used while a stream that waits for it is being captured: use another "
                 "cupola.Stream, or capture a cupola.Stream(non_blocking=True)");
}

void Capture::refuse(const Stream& stream, const char* what) {
    require_usable(stream);
    if (of(stream))
        fail(CUPOLA_ERROR_VALUE, std::string("the stream is being captured: nothing runs before "
                                             "the graph is launched, so it can't be ") +
                                     what);
}

void Capture::refuse(const Context& context, const char* what) {
    if (__builtin_expect(!any_capture(), 1)) return;
    std::lock_guard<std::mutex> lock(captures().mutex);
    for (const auto& capture : captures().all)
        if (&capture->origin->context == &context)
            fail(CUPOLA_ERROR_VALUE,
                 "a stream of " + device_text(context) +
                     " is being captured: nothing runs before the graph is launched, so the device "
                     "can't be " +
                     what + "; wait for another stream or an event");
}

std::uint64_t Capture::id_of(const Stream& stream) {
    if (__builtin_expect(!any_capture(), 1)) return 0;
    ContextScope current(stream.context);
    return capture_id(stream);
}

Stream& Capture::side_stream(Context& context) {
    static std::mutex* const mutex = new std::mutex;
    static auto* const streams = new std::vector<std::pair<Context*, Stream*>>;
    std::lock_guard<std::mutex> lock(*mutex);
    for (const auto& [of, stream] : *streams)
        if (of == &context) return *stream;
    const RelaxedCapture relaxed(context.driver);
    streams->push_back({&context, new Stream(context, CU_STREAM_NON_BLOCKING, 0)});
    return *streams->back().second;
}

CUgraphNode Capture::add_child(const Stream& stream, CUgraph child) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph into = nullptr;
    const CUgraphNode* before = nullptr;
    std::size_t count = 0;
    CUPOLA_CALL(stream.context.driver, cuStreamGetCaptureInfo, stream.handle, &status, &id, &into,
                &before, &count);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        fail_driver(stream.context.driver, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                    "cuStreamGetCaptureInfo", reason(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
    // The driver's array is valid until the next call for the stream.
    const std::vector<CUgraphNode> after(before, before + count);
    CUgraphNode node = nullptr;
    CUPOLA_CALL(stream.context.driver, cuGraphAddChildGraphNode, &node, into, after.data(), count,
                child);
    CUPOLA_CALL(stream.context.driver, cuStreamUpdateCaptureDependencies, stream.handle, &node, 1,
                CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    return node;
}

}  // namespace cupola
