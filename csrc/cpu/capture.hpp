// csrc/cpu/capture.hpp - a capture: what is put on its streams becomes the nodes of a graph.
//
// A capture begins at one stream and takes in others that wait for an event of it. For each it
// knows the nodes that the stream's next node comes after. All of it is under Graph::mutex.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cpu/graph.hpp"

namespace cupola::cpu {

class Capture : public std::enable_shared_from_this<Capture> {
  public:
    static void begin(Stream& stream, CUstreamCaptureMode mode);
    // Into a graph that is there, after some of its nodes. With Graph::mutex.
    static void begin_in(std::shared_ptr<Graph> graph, std::vector<Node*> after, Stream& stream,
                         CUstreamCaptureMode mode);
    static std::shared_ptr<Graph> end(Stream& stream);

    // What a call that puts work on the stream adds it to; null where the stream does not capture.
    // Throws, and ends what it disturbs, where the call is not allowed.
    static std::shared_ptr<Capture> of(Stream& stream) {
        return __builtin_expect(active.load(std::memory_order_acquire) == 0, 1) ? nullptr
                                                                                : find(stream);
    }
    // For calls that wait for the stream, or can be no node: not allowed while it captures.
    static void forbid(Stream& stream) {
        if (__builtin_expect(active.load(std::memory_order_acquire) != 0, 0)) refuse(stream);
    }
    // For calls that may wait for work of every stream, as the mode of this thread has it.
    static void forbid() {
        if (__builtin_expect(active.load(std::memory_order_acquire) != 0, 0)) refuse();
    }
    // For calls that wait for a whole context.
    static void forbid(const Context& context) {
        if (__builtin_expect(active.load(std::memory_order_acquire) != 0, 0)) refuse(context);
    }
    static CUstreamCaptureMode exchange(CUstreamCaptureMode mode);

    void add(Stream& stream, Work work);
    void record(Stream& stream, Event& event);
    // An event that was recorded in it was asked about.
    [[noreturn]] void refuse_event();
    // Lets the stream wait for a captured event; a stream that does not capture joins.
    static void wait(Stream& stream, Event& event);
    void invalidate() { valid_ = false; }
    // Whether one goes into this graph. With Graph::mutex.
    static bool into(const Graph& graph);
    // The stream is destroyed. Its nodes stay: they must be joined as those of other streams.
    static void leave(Stream& stream);

    struct Info {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        std::uint64_t id = 0;
        CUgraph graph = nullptr;
        const CUgraphNode* dependencies = nullptr;
        const CUgraphEdgeData* edges = nullptr;  // one for each dependency
        std::size_t count = 0;
    };
    static Info info(Stream& stream);
    static void set_dependencies(Stream& stream, CUgraphNode* nodes, std::size_t count, bool add);

    // Without a graph it makes its own.
    Capture(std::shared_ptr<Stream> origin, CUstreamCaptureMode mode,
            std::shared_ptr<Graph> graph = nullptr);

  private:
    static std::shared_ptr<Capture> find(Stream& stream);
    static void refuse(Stream& stream);
    static void refuse();
    static void refuse(const Context& context);
    [[noreturn]] void spoil(CUresult code);
    void close();
    bool joined() const;

    static std::atomic<int> active;  // how many there are

    const std::uint64_t id_;
    const CUstreamCaptureMode mode_;
    const std::thread::id thread_;
    const std::shared_ptr<Stream> origin_;
    std::shared_ptr<Graph> graph_;
    bool own_ = true;  // it made the graph
    bool valid_ = true;
    struct Place {
        std::shared_ptr<Stream> stream;
        std::vector<Node*> after;
        // What `info` pointed to. No edge of a graph here has properties: all are zeros.
        std::vector<CUgraphNode> shown{};
        std::vector<CUgraphEdgeData> edges{};
    };
    std::unordered_map<const Stream*, Place> places_;
};

}  // namespace cupola::cpu
