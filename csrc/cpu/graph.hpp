// csrc/cpu/graph.hpp - a graph: nodes of work and their order; and a graph made ready to launch.
//
// Graphs are changed under one lock of the process (`Graph::mutex`): by the program, and by the
// captures of its streams. A graph that is made ready is a copy, which no later change touches.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "cpu/copy.hpp"
#include "cpu/cuda.hpp"
#include "cpu/graph_conditional.hpp"
#include "cpu/graph_memory.hpp"
#include "cpu/launch.hpp"
#include "cpu/memory_operation.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Event;
class Graph;
class Stream;
class UserReferences;

struct HostCall {
    CUhostFn function;
    void* data;
};
struct ChildGraph {
    std::shared_ptr<Graph> graph;
};
struct EmptyNode {};
struct WaitNode {
    std::shared_ptr<Event> event;
};
struct RecordNode {
    std::shared_ptr<Event> event;
};
// Memory that a graph allocates, and frees.
struct AllocateNode {
    std::shared_ptr<GraphMemory> memory;
};
struct FreeNode {
    std::shared_ptr<GraphMemory> memory;
};
using Work = std::variant<KernelCall, Copy, Fill, HostCall, ChildGraph, EmptyNode, WaitNode,
                          RecordNode, AllocateNode, FreeNode, MemoryOperations, ConditionalNode>;

CUgraphNodeType type_of(const Work& work);
// The graphs that a node has: a child, or the bodies of a conditional one.
std::vector<std::shared_ptr<Graph>> inner_graphs(const Work& work);

struct Node {
    CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
    CUgraphNodeType type() const { return type_of(work); }

    Graph* graph = nullptr;
    Work work;
    std::vector<Node*> before, after;  // what it waits for, what waits for it
    CUgraphNode origin = nullptr;      // of a copy: the node it was copied from
    std::vector<void*> pointers;       // what cuGraphKernelNodeGetParams gave
    bool enabled = true;               // of one that is ready to launch
};

class Graph : public std::enable_shared_from_this<Graph> {
  public:
    using Nodes = std::vector<std::shared_ptr<Node>>;

    static std::mutex& mutex();
    // A graph that the driver's registry knows. Forget: its handle and its nodes' are gone.
    static std::shared_ptr<Graph> make();
    void forget();

    CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
    const Nodes& nodes() const { return nodes_; }
    Node& add(Work work, const std::vector<Node*>& before);
    void remove(Node& node);
    void link(Node& from, Node& to);  // INVALID_VALUE where the edge is there, or no edge
    void unlink(Node& from, Node& to);
    bool has(const Node& node) const { return node.graph == this; }

    std::shared_ptr<Graph> clone(bool known) const;
    // What comes first, first; of what may be in any order, what was added first. Empty where the
    // order is a circle.
    std::vector<Node*> sorted() const;
    // Whether the graph is in this one, at any depth.
    bool holds(const Graph& graph) const;
    bool has_conditions() const;  // likewise
    // The graph that this one is inside of, at any depth; itself where it is in none.
    Graph& outermost();
    // Those of this graph and of the graphs inside.
    std::vector<std::shared_ptr<Conditional>> all_conditions() const;

    Node* owner = nullptr;  // of a child graph or a body: the node that has it
    std::vector<std::shared_ptr<Conditional>> conditions;  // as objects
    std::vector<std::shared_ptr<UserReferences>> objects;  // which copies have, too

  private:
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
    unsigned long long flags() const { return flags_; }
    // The node that was copied from this one; INVALID_VALUE where there is none, or of that type.
    Node& node(CUgraphNode origin);
    Node& node(CUgraphNode origin, CUgraphNodeType type);
    CUgraphExecUpdateResult update_child(CUgraphNode origin, const Graph& graph);
    CUgraphExecUpdateResult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);

    std::mutex mutex;  // of what follows

  private:
    void list(const Graph& graph, std::vector<Node*>& order);
    void list_bodies(const ConditionalNode& node);
    void take_conditions(std::vector<std::shared_ptr<Conditional>> conditions);
    Steps steps(const Graph& body, Stream& stream) const;
    std::vector<Steps> bodies(const ConditionalNode& node, Stream& stream) const;
    void allocate();

    const unsigned long long flags_;
    std::shared_ptr<Graph> graph_;
    std::vector<Node*> order_;  // child graphs' nodes in place of their node
    std::map<const Graph*, std::vector<Node*>> bodies_;  // likewise, of conditional nodes
    std::vector<std::shared_ptr<Conditional>> first_conditions_, conditions_;
    std::map<CUgraphNode, Node*> by_origin_;
    Mark last_;  // launches run one after another
};

}  // namespace cupola::cpu
