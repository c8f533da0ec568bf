// csrc/runtime/capture.hpp - captures that cupola began: what is queued on a stream becomes a
// graph.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "runtime/callback.hpp"
#include "runtime/resource.hpp"
#include "runtime/stream.hpp"

namespace cupola {

class Graph;

class Capture {
  public:
    static void begin(Stream& stream, CUstreamCaptureMode mode);
    // Throws what spoilt it; the stream is an ordinary one again in any case.
    static Ref<Graph> end(Stream& stream);

    // The one that the stream takes part in; null: none, or another library's.
    static std::shared_ptr<Capture> of(const Stream& stream) {
        return __builtin_expect(running.load(std::memory_order_acquire) == 0, 1) ? nullptr
                                                                                 : find(stream);
    }
    static bool any() { return running.load(std::memory_order_acquire) != 0; }
    // Whether the stream may be in one, of whichever library. The legacy default stream never is.
    static bool possible(const Stream& stream) noexcept {
        if (any()) return true;
        return stream.handle != nullptr && stream.handle != CU_STREAM_LEGACY && !is_queue(stream);
    }
    // For calls that can't be captured: says so and leaves the capture as it is.
    static void refuse(const Stream& stream, const char* what);
    // A stream of the context that is never captured.
    static Stream& aside(Context& context);

    Ref<Stream> origin;
    std::uint64_t id = 0;
    std::shared_ptr<Box> box = std::make_shared<Box>();  // what the graph will hold
    std::vector<Ref<Callback>> calls;                    // what it will call; under box->mutex
    bool ending = false;                                 // a thread is about to end it

    // Puts a graph behind what the stream captured so far; what comes next is behind it.
    static CUgraphNode add_child(const Stream& stream, CUgraph child);

    // While it lives, this thread may do what a capture forbids: allocate, load, wait elsewhere.
    // What ends, ends at any time, as garbage that is collected in a capture: of whoever began it.
    class Relaxed {
      public:
        enum Where { ours, anybodys };
        explicit Relaxed(Where where = ours) noexcept;
        ~Relaxed();
        Relaxed(const Relaxed&) = delete;
        Relaxed& operator=(const Relaxed&) = delete;

      private:
        bool changed_ = false;
        CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    };

    // While it lives no capture begins: a stream that is found not to be captured stays so.
    class Closed {
      public:
        Closed();

      private:
        std::shared_lock<std::shared_mutex> lock_;
    };

  private:
    static std::shared_ptr<Capture> find(const Stream& stream);
    static bool is_queue(const Stream& stream) noexcept;
    static std::atomic<int> running;
};

}  // namespace cupola
