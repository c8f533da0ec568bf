// csrc/runtime/context/capture.hpp - captures of streams that cupola began.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/context/stream.hpp"
#include "runtime/lifetime/callback.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/lifetime/retained_object.hpp"

namespace cupola {

class Capture {
  public:
    static void begin(Stream& stream, CUstreamCaptureMode mode);
    // Ends the capture that began at the stream. Calls `take` with the graph while all objects that
    // the graph may use are still alive. Throws the reason where the capture was invalidated; the
    // capture has ended in any case.
    static void end(Stream& stream, const std::function<void(Capture&, CUgraph)>& take);
    // The cupola capture that the stream takes part in, or null.
    static std::shared_ptr<Capture> of(const Stream& stream) {
        return __builtin_expect(!any_capture(), 1) ? nullptr : find(stream);
    }

    // Throws for calls that can't be captured, without invalidating the capture.
    static void refuse(const Stream& stream, const char* what);
    // Throws for calls that concern all streams of a context while one of them is captured.
    static void refuse(const Context& context, const char* what);
    // The driver's number of the capture that the stream takes part in; 0 where there is none, or
    // where only other libraries capture.
    static std::uint64_t id_of(const Stream& stream);
    // A stream of the context that is never captured.
    static Stream& side_stream(Context& context);

    Ref<Stream> origin;
    std::uint64_t id = 0;
    std::shared_ptr<RetainedObjects> retained =
        std::make_shared<RetainedObjects>();  // the graph keeps these alive
    std::vector<Ref<Callback>> calls;         // callbacks of the graph; guarded by retained->mutex
    bool ending = false;                      // a thread has begun to end it

    // Adds a child graph after the work captured so far; later work follows it.
    static CUgraphNode add_child(const Stream& stream, CUgraph child);

  private:
    static std::shared_ptr<Capture> find(const Stream& stream);
};

}  // namespace cupola
