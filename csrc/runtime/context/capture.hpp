// csrc/runtime/context/capture.hpp - captures that cupola began: work that is queued on a stream
// becomes a graph.
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
    // Ends the capture that began at the stream. Gives the graph to `take` while whatever the
    // graph may turn out to use is still kept. Throws the reason where the capture was invalidated;
    // it is over in any case.
    static void end(Stream& stream, const std::function<void(Capture&, CUgraph)>& take);
    // The capture of cupola's that the stream takes part in, or null.
    static std::shared_ptr<Capture> of(const Stream& stream) {
        return __builtin_expect(!any_capture(), 1) ? nullptr : find(stream);
    }

    // For calls that can't be captured: says so and leaves the capture as it is.
    static void refuse(const Stream& stream, const char* what);
    // A stream of the context that is never captured.
    static Stream& side_stream(Context& context);

    Ref<Stream> origin;
    std::uint64_t id = 0;
    std::shared_ptr<RetainedObjects> box =
        std::make_shared<RetainedObjects>();  // what the graph will hold
    std::vector<Ref<Callback>> calls;         // what it will call; under box->mutex
    bool ending = false;                      // a thread is about to end it

    // Puts a graph behind what the stream captured so far; what comes next is behind it.
    static CUgraphNode add_child(const Stream& stream, CUgraph child);

  private:
    static std::shared_ptr<Capture> find(const Stream& stream);
};

}  // namespace cupola
