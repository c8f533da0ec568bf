// csrc/runtime/graph/graph.hpp - graphs, and graphs made ready to launch; both hold what their
// nodes use.
#pragma once

#include <map>

#include "cupola/graph.h"
#include "runtime/context/capture.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Something that is somebody else's: `release` is called when it is needed no more.
class Owner : public Object {
  public:
    Owner(void* owner, void (*release)(void*)) : owner_(owner), release_(release) {}
    ~Owner() override {
        if (release_) release_(owner_);
    }

  private:
    void* owner_;
    void (*release_)(void*);
};

// What the nodes use, by node; of a whole capture, by null. A box that was filled is not changed
// but by what another thread was about to let go.
struct RetainedByNode {
    std::map<CUgraphNode, std::shared_ptr<RetainedObjects>> boxes;
    std::vector<Ref<Callback>> calls;

    RetainedObjects& box(CUgraphNode node);
    void hold(CUgraphNode node, Ref<Object> object);
    void hold_used(CUgraphNode node, const Kernel& kernel, const void* buffer);
    void hold_used(CUgraphNode node, Numbers numbers);
    void add(const RetainedByNode& other);
};

std::vector<CUgraphNode> nodes_of(CUgraph graph);

struct Edges {
    std::vector<CUgraphNode> from, to;
};
Edges edges_of(CUgraph graph);

class Graph : public Object {
  public:
    Graph(Context& context, CUgraph handle) : context(context), handle(handle) {}
    explicit Graph(Context& context);
    // The one inside a node of another: it goes with that.
    Graph(Ref<Graph> parent, CUgraph handle)
        : context(parent->context), handle(handle), parent_(std::move(parent)) {}
    ~Graph() override;

    // Ends the capture that began at the stream; its graph holds what its nodes use.
    static Ref<Graph> end_capture(Stream& stream);

    Context& context;
    CUgraph handle = nullptr;
    RetainedByNode retained;

  private:
    void adopt(Capture& capture);

    Ref<Graph> parent_;
};

class GraphExec : public Object {
  public:
    explicit GraphExec(const Graph& graph);
    ~GraphExec() override;

    void launch(Stream& stream);
    // Whether a launch can surely not wait: for anybody's callback, or for room in the queue.
    bool launches_without_waiting(Stream& stream);
    void set_kernel(CUgraphNode node, Kernel& kernel, const cupola_dimensions& dimensions,
                    const void* buffer, Ref<Object> owner);
    void update(const Graph& graph);

    Context& context;
    CUgraphExec handle = nullptr;

  private:
    void launch_otherwise(Stream& stream);
    void set_display_name();
    void copy(CUgraph graph);
    void note(Stream& stream);
    void retire(RetainedObjects& box);

    std::mutex mutex_;
    std::atomic<bool> calls_{false};             // functions of the program
    std::size_t nodes_ = 0;                      // at the top
    int places_ = 1;                             // in the driver's queue
    std::map<CUgraphNode, CUfunction> kernels_;  // of its nodes, and of those of graphs in it
    std::atomic<const char*> title_{""};         // what faults and the log call it; lasting
    // What it runs, as a graph: a launch in a capture becomes a part of the graph that is made, and
    // no driver makes that of what is ready. Null where it can't be copied, or not any more.
    CUgraph copy_ = nullptr;
    const char* not_copied_ = "";
    RetainedByNode retained_;
    std::atomic<Stream*> last_{nullptr};
    std::vector<Ref<Stream>> streams_;  // where it was launched
};

inline Graph* unwrap(cupola_graph* graph) { return reinterpret_cast<Graph*>(graph); }
inline cupola_graph* wrap(Graph* graph) { return reinterpret_cast<cupola_graph*>(graph); }
inline GraphExec* unwrap(cupola_graph_exec* exec) { return reinterpret_cast<GraphExec*>(exec); }
inline cupola_graph_exec* wrap(GraphExec* e) { return reinterpret_cast<cupola_graph_exec*>(e); }

// The kernels of its nodes, and of the graphs in it. Null for one that the driver does not tell.
void find_kernels(CUgraph graph, std::map<CUgraphNode, CUfunction>& kernels);

// How many places a launch of it takes in the driver's queue, at most: where nodes wait for each
// other in a row it takes one, else each eight of them take one (measured on an H200, driver 580).
int places_of(CUgraph graph);

// A kernel as a node's parameters; `pointers` has to live as long as they are used.
CUDA_KERNEL_NODE_PARAMS kernel_parameters(Kernel& kernel, const cupola_dimensions& dimensions,
                                          const void* buffer, std::vector<void*>& pointers);

}  // namespace cupola
