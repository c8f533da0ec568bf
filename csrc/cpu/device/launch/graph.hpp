// csrc/cpu/device/launch/graph.hpp - graphs and executable graphs.
//
// One lock of the driver (`Driver::graph_mutex`) guards changes of graphs by the program and by
// captures. An executable graph is a copy, so later changes of the graph do not affect it.
#pragma once

#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"
#include "cpu/device/launch/graph_conditional.hpp"
#include "cpu/device/launch/graph_memory.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/device/stream/copy.hpp"
#include "cpu/device/stream/memory_operation.hpp"

namespace cupola::cpu {

class DeviceGraph;
class Driver;
class Event;
class Graph;
class GraphExec;
class GraphRun;
class Stream;
class UserReferences;

struct HostCall {
    CUhostFn function;
    void* data;
};
struct ChildGraph {
    std::shared_ptr<Graph> graph;
    bool moved = false;  // the program's graph itself, not a clone
};
struct EmptyNode {};
struct WaitNode {
    std::shared_ptr<Event> event;
};
struct RecordNode {
    std::shared_ptr<Event> event;
};
// A graph's allocation and free nodes.
struct AllocateNode {
    std::shared_ptr<GraphMemory> memory;
};
struct FreeNode {
    std::shared_ptr<GraphMemory> memory;
};
using Work = std::variant<KernelCall, Copy, Fill, HostCall, ChildGraph, EmptyNode, WaitNode,
                          RecordNode, AllocateNode, FreeNode, MemoryOperations, ConditionalNode>;

CUgraphNodeType type_of(const Work& work);
// The graphs that a node owns: a child graph, or the bodies of a conditional node.
std::vector<std::shared_ptr<Graph>> inner_graphs(const Work& work);
// The operation of a node that computes; null for other nodes. A kernel launches graphs in `run`.
std::unique_ptr<Operation> plain_operation(const Work& work, const Stream& stream,
                                           std::shared_ptr<GraphRun> run);

struct Node {
    CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
    CUgraphNodeType type() const { return type_of(work); }

    Graph* graph = nullptr;
    Work work;
    std::vector<Node*> before, after;  // dependencies, and dependent nodes
    CUgraphNode origin = nullptr;      // in a copy: the node from which it was copied
    std::vector<void*> pointers;       // the result of cuGraphKernelNodeGetParams
    bool enabled = true;               // only in an executable graph
};

class Graph : public std::enable_shared_from_this<Graph> {
  public:
    using Nodes = std::vector<std::shared_ptr<Node>>;

    // `make` registers a graph. `forget` removes the handles of the graph and its nodes.
    static std::shared_ptr<Graph> make(Driver& driver);
    explicit Graph(Driver& driver) : driver_(driver) {}
    void forget();

    CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
    Driver& driver() const { return driver_; }
    const Nodes& nodes() const { return nodes_; }
    Node& add(Work work, const std::vector<Node*>& before);
    void remove(Node& node);
    // Both throw INVALID_VALUE: `link` if the edge exists, `unlink` if it does not.
    void link(Node& from, Node& to);
    void unlink(Node& from, Node& to);
    bool has(const Node& node) const { return node.graph == this; }

    std::shared_ptr<Graph> clone(bool known) const;
    // The nodes in topological order; independent nodes in the order of addition. Empty if the
    // graph has a cycle.
    std::vector<Node*> sorted() const;
    // Whether this graph contains the graph, at any depth.
    bool holds(const Graph& graph) const;
    bool has_conditions() const;  // at any depth
    bool has_memory() const;      // allocation or free nodes, at any depth
    bool has_own_memory() const;  // nodes of this graph, without those of graphs inside
    // Whether the program moved this graph into a node; such a graph can only be edited.
    bool is_moved() const;
    // The outermost graph that contains this graph; this graph itself if no graph does.
    Graph& outermost();
    // The conditions of this graph and of the graphs inside.
    std::vector<std::shared_ptr<Conditional>> all_conditions() const;

    Node* owner = nullptr;  // the node that owns this graph, if it is a child graph or a body
    std::vector<std::shared_ptr<Conditional>> conditions;  // copies share them
    std::vector<std::shared_ptr<UserReferences>> objects;  // copies share them
    std::weak_ptr<GraphExec>
        memory_user;  // the executable graph, where this graph has memory nodes

  private:
    Driver& driver_;
    Nodes nodes_;
    bool known_ = false;
};

class GraphExec {
  public:
    GraphExec(const Graph& graph, unsigned long long flags);
    ~GraphExec();
    GraphExec(const GraphExec&) = delete;
    GraphExec& operator=(const GraphExec&) = delete;

    CUgraphExec handle() { return reinterpret_cast<CUgraphExec>(this); }
    void launch(Stream& stream);
    void upload(Stream& stream);
    // Null unless it was instantiated for launches by device code.
    const std::shared_ptr<DeviceGraph>& device() const { return device_; }
    unsigned long long flags() const { return flags_; }
    bool empty() const { return order_.empty(); }
    // The copy of this node; throws INVALID_VALUE if the copy has no node of that type.
    Node& node(CUgraphNode origin);
    Node& node(CUgraphNode origin, CUgraphNodeType type);
    CUgraphExecUpdateResult update_child(CUgraphNode origin, const Graph& graph);
    CUgraphExecUpdateResult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);

    std::mutex mutex;  // guards the fields below

  private:
    void list(const Graph& graph, std::vector<Node*>& order);
    void list_bodies(const ConditionalNode& node);
    void take_conditions(std::vector<std::shared_ptr<Conditional>> conditions);
    bool launches_graphs() const;
    std::unique_ptr<Operation> upload_operation() const;
    Steps steps(const Graph& body, Stream& stream, const std::shared_ptr<GraphRun>& run) const;
    std::vector<Steps> bodies(const ConditionalNode& node, Stream& stream,
                              const std::shared_ptr<GraphRun>& run) const;
    void allocate();

    const unsigned long long flags_;
    const std::shared_ptr<DeviceGraph> device_;
    std::shared_ptr<Graph> graph_;
    std::vector<Node*> order_;  // nodes of child graphs replace the child node
    std::map<const Graph*, std::vector<Node*>> bodies_;  // nodes of conditional bodies
    std::vector<std::shared_ptr<Conditional>> first_conditions_, conditions_;
    std::map<CUgraphNode, Node*> by_origin_;
    Mark last_;  // a launch waits for the previous one
};

}  // namespace cupola::cpu
