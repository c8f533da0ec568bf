// csrc/cpu/device/launch/capture.hpp - a capture: work submitted to its streams becomes nodes of a
// graph.
//
// A capture begins in one stream, and streams that wait for its events join. For each stream it
// stores the dependencies of the stream's next node. Driver::graph_mutex guards all of it.
#pragma once

#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/graph.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {

class Capture : public std::enable_shared_from_this<Capture> {
  public:
    static void begin(Stream& stream, CUstreamCaptureMode mode);
    // Captures into an existing graph, after some of its nodes. Needs Driver::graph_mutex.
    static void begin_in(std::shared_ptr<Graph> graph, std::vector<Node*> after, Stream& stream,
                         CUstreamCaptureMode mode);
    static std::shared_ptr<Graph> end(Stream& stream);

    // The capture that receives work submitted to the stream; null if the stream does not capture.
    // If the call is not allowed, it invalidates the captures that it affects and throws.
    static std::shared_ptr<Capture> of(Stream& stream) {
        return active(stream.context()->driver()) ? find(stream) : nullptr;
    }
    // For calls that wait for the stream or cannot be a node: such calls are not allowed while the
    // stream captures.
    static void forbid(Stream& stream) {
        if (active(stream.context()->driver())) refuse(stream);
    }
    // For calls that may wait for all streams: allowed or not by this thread's capture mode.
    static void forbid(Driver& driver) {
        if (active(driver)) refuse(driver);
    }
    // Refuses calls that wait for a whole context.
    static void forbid(const Context& context) {
        if (active(context.driver())) refuse(context);
    }
    static CUstreamCaptureMode exchange(CUstreamCaptureMode mode);

    void add(Stream& stream, Work work);
    void record(Stream& stream, Event& event);
    // For queries of an event: a query is not allowed if the event was recorded in a capture. The
    // query invalidates that capture.
    static void require_uncaptured(const Event& event);
    // Lets the stream wait for a captured event; a stream that does not capture joins.
    static void wait(Stream& stream, Event& event);
    void invalidate() { valid_ = false; }
    // Whether a capture into this graph is active. Needs Driver::graph_mutex.
    static bool into(const Graph& graph);
    // Called when the stream is destroyed. A capture that began on the stream ends, and is invalid.
    // In a capture that began on another stream, the stream's nodes stay and must be joined.
    static void leave(Stream& stream);

    struct Info {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        std::uint64_t id = 0;
        CUgraph graph = nullptr;
        const CUgraphNode* dependencies = nullptr;
        const CUgraphEdgeData* edges = nullptr;  // an edge's data for each dependency
        std::size_t count = 0;
    };
    static Info info(Stream& stream);
    static void set_dependencies(Stream& stream, CUgraphNode* nodes, std::size_t count, bool add);

    // Creates a graph if none is given.
    Capture(std::shared_ptr<Stream> origin, CUstreamCaptureMode mode,
            std::shared_ptr<Graph> graph = nullptr);

  private:
    static bool active(const Driver& driver) {
        return __builtin_expect(driver.captures.active.load(std::memory_order_acquire) != 0, 0);
    }
    static std::shared_ptr<Capture> find(Stream& stream);
    static void refuse(Stream& stream);
    static void refuse(Driver& driver);
    static void refuse(const Context& context);
    [[noreturn]] void spoil(CUresult code);
    void close();
    bool joined() const;

    Driver& driver_;
    const std::uint64_t id_;
    const CUstreamCaptureMode mode_;
    const std::thread::id thread_;
    const std::shared_ptr<Stream> origin_;
    std::shared_ptr<Graph> graph_;
    bool own_ = true;  // the capture created the graph
    bool valid_ = true;
    struct Place {
        std::shared_ptr<Stream> stream;
        std::vector<Node*> after;
        // The array that `info` returned. Edges have no properties here, so all are zero.
        std::vector<CUgraphNode> shown{};
        std::vector<CUgraphEdgeData> edges{};
    };
    std::unordered_map<const Stream*, Place> places_;
};

}  // namespace cupola::cpu
