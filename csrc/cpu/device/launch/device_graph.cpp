// csrc/cpu/device/launch/device_graph.cpp - checks, uploads and runs graphs that device code
// launches.
#include "cpu/device/launch/device_graph.hpp"

#include <utility>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/module.hpp"
#include "platform/runtime_error.hpp"

namespace cupola::cpu {
namespace {

// Handles of streams, which select the mode of a launch.
constexpr std::uint64_t tail_launch = std::uint64_t{1} << 56;
constexpr std::uint64_t fire_and_forget = std::uint64_t{2} << 56;
constexpr std::uint64_t as_sibling = std::uint64_t{3} << 56;

// Device code copies memory that the device can address.
bool is_addressable(const MemoryMap& memory, const Side& side) {
    return !side.array && memory.at(side.address).has_value();
}

// `context`: the common context of the kernels so far.
std::optional<GraphRefusal> find_refusal(const Graph& graph, bool device, const Context*& context) {
    for (const auto& node : graph.nodes()) {
        const auto* kernel = std::get_if<KernelCall>(&node->work);
        if (device && !device_graph_takes(graph.driver().memory, node->work))
            return GraphRefusal{CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node.get()};
        if (kernel && (device || kernel->function->kernel().launches_graphs())) {
            if (!context) context = kernel->context.get();
            if (context != kernel->context.get())
                return GraphRefusal{CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, node.get()};
        }
        for (const auto& inner : inner_graphs(node->work))
            if (auto found = find_refusal(*inner, device, context)) return found;
    }
    return std::nullopt;
}

}  // namespace

bool device_graph_takes(const MemoryMap& memory, const Work& work) {
    if (const auto* kernel = std::get_if<KernelCall>(&work))
        return !kernel->function->kernel().launches_work();
    if (const auto* copy = std::get_if<Copy>(&work))
        return is_addressable(memory, copy->source) && is_addressable(memory, copy->destination);
    return std::holds_alternative<Fill>(work) || std::holds_alternative<ChildGraph>(work);
}

std::optional<GraphRefusal> find_refusal(const Graph& graph, bool device) {
    const Context* context = nullptr;
    return find_refusal(graph, device, context);
}

GraphLaunch::GraphLaunch(std::shared_ptr<DeviceGraph> graph, std::shared_ptr<const Nodes> nodes)
    : graph_(std::move(graph)), nodes_(std::move(nodes)) {
    ++graph_->launches_;  // the caller holds the lock
}

GraphLaunch::~GraphLaunch() {
    std::lock_guard lock(graph_->mutex_);
    --graph_->launches_;
}

void DeviceGraph::upload(std::shared_ptr<const GraphLaunch::Nodes> nodes) {
    std::lock_guard lock(mutex_);
    nodes_ = std::move(nodes);
}

std::shared_ptr<GraphLaunch> DeviceGraph::launch(bool by_itself) {
    std::lock_guard lock(mutex_);
    require(nodes_ != nullptr && launches_ == (by_itself ? 1 : 0));
    return std::make_shared<GraphLaunch>(shared_from_this(), nodes_);
}

std::shared_ptr<GraphLaunch> DeviceGraph::launch_by_host() {
    std::lock_guard lock(mutex_);
    return std::make_shared<GraphLaunch>(shared_from_this(), nodes_);
}

GraphRun::GraphRun(std::shared_ptr<Context> context, std::shared_ptr<GraphRun> parent,
                   std::shared_ptr<DeviceGraph> graph)
    : context_(std::move(context)), parent_(std::move(parent)), graph_(std::move(graph)) {}

std::shared_ptr<GraphRun> GraphRun::of_host(std::shared_ptr<Context> context,
                                            std::shared_ptr<DeviceGraph> graph) {
    auto stream = std::make_shared<GraphRun>(context, nullptr, nullptr);
    return std::make_shared<GraphRun>(std::move(context), std::move(stream), std::move(graph));
}

void GraphRun::begin() {
    if (graph_) launch_ = graph_->launch_by_host();
}

void GraphRun::end() { parent_->run_all(finish()); }

std::unique_ptr<Operation> GraphRun::launch(DeviceGraph& graph, std::uint64_t stream) {
    require(stream == tail_launch || stream == fire_and_forget || stream == as_sibling);
    const bool is_tail = stream == tail_launch;
    GraphRun& around = stream == as_sibling ? *parent_ : *this;
    std::lock_guard lock(around.mutex_);
    unsigned& count = is_tail ? around.tail_count_ : around.children_;
    // A stream's environment has no limit.
    require(!around.parent_ || count < (is_tail ? max_tails : max_children),
            static_cast<CUresult>(runtime_error::launch_pending_count_exceeded));
    auto launched = graph.launch(is_tail && graph.handle() == handle());
    ++count;
    return task([run = shared_from_this(), launched = std::move(launched), stream](CUresult) {
        if (stream == fire_and_forget) return run->run_all({launched});
        GraphRun& to = stream == as_sibling ? *run->parent_ : *run;
        std::lock_guard lock_of_list(to.mutex_);
        (stream == as_sibling ? to.siblings_ : to.tails_).push_back(launched);
    });
}

bool GraphRun::usable() const {
    return context_->alive() && context_->error() == CUDA_SUCCESS &&
           DriverState::get() == CUDA_SUCCESS;
}

// Returns the tail launches of the graph.
GraphRun::Launches GraphRun::finish() {
    launch_ = nullptr;
    parent_->run_siblings();
    std::lock_guard lock(mutex_);
    return std::move(tails_);
}

void GraphRun::run_nodes() {
    for (const Work& work : launch_->nodes()) {
        if (!usable()) return;
        // No call can return the error to the program.
        const CUresult code = result_of([&] {
            plain_operation(work, *context_->legacy(), shared_from_this())->run(CUDA_SUCCESS);
            return CUDA_SUCCESS;
        });
        if (code != CUDA_SUCCESS)
            context_->poison(code, "a node of a graph that device code launched could not start");
    }
}

// A sibling may launch another one without end, so siblings do not nest.
void GraphRun::run_siblings() {
    std::unique_lock lock(mutex_);
    if (std::exchange(running_siblings_, true)) return;
    while (!siblings_.empty() && usable()) {
        Launches next{std::move(siblings_.front())};
        siblings_.pop_front();
        lock.unlock();
        run_all(std::move(next));
        lock.lock();
    }
    running_siblings_ = false;
}

// A graph may launch itself as a tail without end, so tails do not nest.
void GraphRun::run_all(Launches next) {
    while (!next.empty() && usable()) {
        const auto& graph = next.front()->graph();
        auto run = std::make_shared<GraphRun>(context_, shared_from_this(), graph);
        run->launch_ = std::move(next.front());
        next.pop_front();
        run->run_nodes();
        Launches tails = run->finish();
        next.insert(next.begin(), std::make_move_iterator(tails.begin()),
                    std::make_move_iterator(tails.end()));
    }
}

}  // namespace cupola::cpu
