// csrc/cpu/device/launch/device_graph.hpp - device graphs, which kernels of other graphs launch:
// their checks and uploads, and a run of a graph with the graphs that its kernels launch.
//
// As with grids of device code, the launched graphs run when the launching grid has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cpu/device/launch/graph.hpp"

namespace cupola::cpu {

class Context;
class DeviceGraph;
class MemoryMap;

// Whether a device graph can contain this work.
bool device_graph_takes(const MemoryMap& memory, const Work& work);

// A node that prevents the instantiation of a graph.
struct GraphRefusal {
    CUgraphInstantiateResult result;
    Node* node;
};
// `device`: for launches by device code.
std::optional<GraphRefusal> find_refusal(const Graph& graph, bool device);

// One launch of a device graph. The graph is busy until the launch is destroyed.
class GraphLaunch {
  public:
    using Nodes = std::vector<Work>;
    GraphLaunch(std::shared_ptr<DeviceGraph> graph, std::shared_ptr<const Nodes> nodes);
    ~GraphLaunch();
    GraphLaunch(const GraphLaunch&) = delete;
    GraphLaunch& operator=(const GraphLaunch&) = delete;

    const std::shared_ptr<DeviceGraph>& graph() const { return graph_; }
    const Nodes& nodes() const { return *nodes_; }

  private:
    const std::shared_ptr<DeviceGraph> graph_;
    const std::shared_ptr<const Nodes> nodes_;
};

// The uploaded nodes of an executable graph, and its launches. Thread-safe.
class DeviceGraph : public std::enable_shared_from_this<DeviceGraph> {
  public:
    explicit DeviceGraph(CUgraphExec handle) : handle_(handle) {}

    CUgraphExec handle() const { return handle_; }
    // Later launches by device code run these nodes.
    void upload(std::shared_ptr<const GraphLaunch::Nodes> nodes);
    // A launch by device code. Throws INVALID_VALUE before the first upload and while the graph is
    // busy; a launch by its own kernel follows the present one.
    std::shared_ptr<GraphLaunch> launch(bool by_itself);
    // A launch by the host of the uploaded nodes.
    std::shared_ptr<GraphLaunch> launch_by_host();

  private:
    friend GraphLaunch;

    const CUgraphExec handle_;
    std::mutex mutex_;
    std::shared_ptr<const GraphLaunch::Nodes> nodes_;  // null before the first upload
    unsigned launches_ = 0;                            // that have not ended
};

// A run of a graph: the execution environment of CUDA's programming guide. The parent is the run
// whose kernel launched the graph; that of a graph of the host stands for the stream.
class GraphRun : public std::enable_shared_from_this<GraphRun> {
  public:
    // Limits of the programming guide.
    static constexpr unsigned max_children = 120, max_tails = 255;

    // `graph` is null for a graph of the host, and for the environment of a stream, whose parent is
    // null as well.
    GraphRun(std::shared_ptr<Context> context, std::shared_ptr<GraphRun> parent,
             std::shared_ptr<DeviceGraph> graph);

    // A run of a graph that the host launches: `begin` before its nodes, `end` after them.
    static std::shared_ptr<GraphRun> of_host(std::shared_ptr<Context> context,
                                             std::shared_ptr<DeviceGraph> graph);
    void begin();
    void end();

    // The device graph; null for a graph of the host.
    CUgraphExec handle() const { return graph_ ? graph_->handle() : nullptr; }
    // Checks a launch by a kernel of this graph. Returns the work that follows its grid.
    std::unique_ptr<Operation> launch(DeviceGraph& graph, std::uint64_t stream);

  private:
    using Launches = std::deque<std::shared_ptr<GraphLaunch>>;

    bool usable() const;
    Launches finish();
    void run_nodes();
    void run_siblings();
    // Runs graphs in this environment, and their tail launches.
    void run_all(Launches next);

    const std::shared_ptr<Context> context_;
    const std::shared_ptr<GraphRun> parent_;
    const std::shared_ptr<DeviceGraph> graph_;
    std::shared_ptr<GraphLaunch> launch_;

    std::mutex mutex_;
    unsigned children_ = 0, tail_count_ = 0;
    Launches tails_;     // graphs that run after this graph
    Launches siblings_;  // graphs that run in this environment
    bool running_siblings_ = false;
};

}  // namespace cupola::cpu
