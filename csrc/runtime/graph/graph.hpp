// csrc/runtime/graph/graph.hpp - graphs and executable graphs; both keep alive what their nodes
// use.
#pragma once

#include <map>

#include "cupola/graph.h"
#include "runtime/context/capture.hpp"
#include "runtime/lifetime/owner.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Objects that a graph keeps alive, by node; those of a capture are under null. A filled entry is
// shared and only grows: by objects that another thread was about to release.
struct RetainedByNode {
    std::map<CUgraphNode, std::shared_ptr<RetainedObjects>> by_node;
    std::vector<Ref<Callback>> calls;

    RetainedObjects& at(CUgraphNode node);
    void hold(CUgraphNode node, Ref<Object> object);
    void hold_used(CUgraphNode node, const Kernel& kernel, const void* buffer);
    void hold_used(CUgraphNode node, Numbers numbers);
    void add(const RetainedByNode& other);
};

std::vector<CUgraphNode> nodes_of(const Driver& driver, CUgraph graph);

struct Edges {
    std::vector<CUgraphNode> from, to;
};
Edges edges_of(const Driver& driver, CUgraph graph);

class Graph : public Object {
  public:
    Graph(Context& context, CUgraph handle) : context(context), handle(handle) {}
    explicit Graph(Context& context);
    // The child graph of a node; `parent` owns its handle.
    Graph(Ref<Graph> parent, CUgraph handle)
        : context(parent->context), handle(handle), parent_(std::move(parent)) {}
    ~Graph() override;

    // Ends the capture that began at the stream; its graph keeps alive what its nodes use.
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
    // Whether a launch certainly does not wait for a callback or for space in the queue.
    bool launches_without_waiting(Stream& stream);
    void set_kernel(CUgraphNode node, Kernel& kernel, const cupola_dimensions& dimensions,
                    const void* buffer, Ref<Object> owner);
    void update(const Graph& graph);

    Context& context;
    CUgraphExec handle = nullptr;

  private:
    void launch_otherwise(Stream& stream);
    void require_contents(const Stream& stream) const;
    void set_display_name();
    void copy(CUgraph graph);
    void note_stream(Stream& stream);
    void retire(RetainedObjects& retained);

    std::mutex mutex_;
    std::atomic<bool> calls_{false};             // whether the graph calls host functions
    std::size_t nodes_ = 0;                      // without those of child graphs
    int places_ = 1;                             // entries in the driver's queue
    std::map<CUgraphNode, CUfunction> kernels_;  // including those of child graphs
    std::atomic<const char*> title_{""};         // interned, for faults and the log
    // A copy as a graph: a launch in a capture adds it as a child, which drivers don't do for an
    // executable graph. Null where it can't be copied, or no longer matches.
    CUgraph copy_ = nullptr;
    const char* not_copied_ = "";
    RetainedByNode retained_;
    std::atomic<Stream*> last_{nullptr};
    std::vector<Ref<Stream>> streams_;  // streams on which the graph was launched
};

inline Graph* unwrap(cupola_graph* graph) { return reinterpret_cast<Graph*>(graph); }
inline cupola_graph* wrap(Graph* graph) { return reinterpret_cast<cupola_graph*>(graph); }
inline GraphExec* unwrap(cupola_graph_exec* exec) { return reinterpret_cast<GraphExec*>(exec); }
inline cupola_graph_exec* wrap(GraphExec* e) { return reinterpret_cast<cupola_graph_exec*>(e); }

// The kernels of its nodes and of its child graphs. Null for a kernel that the driver can't report.
void find_kernels(const Driver& driver, CUgraph graph, std::map<CUgraphNode, CUfunction>& kernels);

// The maximum number of queue entries that a launch takes: one for a linear chain of nodes, else
// one for eight nodes (measured on an H200, driver 580).
int places_of(const Driver& driver, CUgraph graph);

// The node parameters of a kernel; `pointers` must outlive them.
CUDA_KERNEL_NODE_PARAMS kernel_parameters(Kernel& kernel, const cupola_dimensions& dimensions,
                                          const void* buffer, std::vector<void*>& pointers);

}  // namespace cupola
