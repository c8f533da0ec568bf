// csrc/runtime/context/capture.hpp - captures of streams that cupola began.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
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
    // Throws for the legacy default stream while a stream that waits for it is being captured: each
    // call of the driver for it would invalidate the capture.
    static void require_usable(const Context& context, CUstream stream) {
        if (__builtin_expect(any_capture(), 0)) check_legacy(context, stream);
    }
    static void require_usable(const Stream& stream) {
        require_usable(stream.context, stream.handle);
    }
    // The driver's number of the capture that the stream takes part in; 0 where the stream takes
    // part in no capture, or where only other libraries capture.
    static std::uint64_t id_of(const Stream& stream);
    // Notes device memory, or the handle of a CUDA array, that was made for the stream, where that
    // is being captured.
    static void note_allocation(const Stream& stream, std::uint64_t begin, std::size_t size) {
        if (__builtin_expect(any_capture(), 0)) note(stream, begin, size);
    }
    // Whether a running capture allocated the memory or CUDA array of this number, but the stream
    // is not captured. Work on the stream would run before the graph, which writes the contents.
    static bool lacks_contents(const Stream& stream, std::uint64_t number) {
        return __builtin_expect(any_capture(), 0) && is_allocation(number) &&
               !stream.flight.capturing();
    }
    // Throws where one of the numbers lacks contents, or where the stream can't be used.
    static void require_contents(const Stream& stream,
                                 std::initializer_list<std::uint64_t> numbers) {
        require_usable(stream);
        for (const std::uint64_t number : numbers)
            if (lacks_contents(stream, number)) fail_without_contents();
    }
    static const char* const without_contents;  // names such memory, its defect and the remedies

    // A stream of the context that no capture includes.
    static Stream& side_stream(Context& context);

    Ref<Stream> origin;
    std::uint64_t id = 0;
    std::shared_ptr<RetainedObjects> retained =
        std::make_shared<RetainedObjects>();  // the graph keeps these alive
    std::vector<Ref<Callback>> calls;         // callbacks of the graph; guarded by retained->mutex
    // The sizes of allocations, by address or handle. They stay allocated until the capture ends.
    std::map<std::uint64_t, std::size_t> allocations;
    bool ending = false;  // a thread has begun to end the capture

    // Adds a child graph after the work captured so far; later work follows it.
    static CUgraphNode add_child(const Stream& stream, CUgraph child);

  private:
    static std::shared_ptr<Capture> find(const Stream& stream);
    static void note(const Stream& stream, std::uint64_t begin, std::size_t size);
    [[gnu::cold]] static bool is_allocation(std::uint64_t number);
    [[noreturn, gnu::cold]] static void fail_without_contents();
    [[gnu::cold]] static void check_legacy(const Context& context, CUstream stream);
};

}  // namespace cupola
