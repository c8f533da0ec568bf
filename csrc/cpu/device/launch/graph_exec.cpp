// csrc/cpu/device/launch/graph_exec.cpp - executable graphs: launches and updates in place.
#include <algorithm>

#include "cpu/device/base/host_function.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/device_graph.hpp"
#include "cpu/device/launch/graph.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

// Compares two graphs, which may differ only in the parameters of their nodes.
struct Comparison {
    CUgraphExecUpdateResultInfo& info;

    CUgraphExecUpdateResult differ(CUgraphExecUpdateResult result, Node* node = nullptr,
                                   Node* from = nullptr) {
        info.result = result;
        info.errorNode = node ? node->handle() : nullptr;
        info.errorFromNode = from ? from->handle() : nullptr;
        return result;
    }

    CUgraphExecUpdateResult run(const Graph& mine, const Graph& theirs) {
        const auto &ours = mine.nodes(), &given = theirs.nodes();
        if (ours.size() != given.size()) return differ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        std::map<const Node*, std::size_t> place, other_place;
        for (std::size_t i = 0; i < ours.size(); ++i)
            place[ours[i].get()] = other_place[given[i].get()] = i;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            if (const auto result = compare(*ours[i], *given[i], place, other_place)) return result;
        }
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }

    CUgraphExecUpdateResult compare(Node& ours, Node& given,
                                    std::map<const Node*, std::size_t>& place,
                                    std::map<const Node*, std::size_t>& other_place) {
        if (ours.type() != given.type())
            return differ(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, &given);
        std::vector<std::size_t> mine, theirs;
        for (const Node* before : ours.before) mine.push_back(place[before]);
        for (const Node* before : given.before) theirs.push_back(other_place[before]);
        std::sort(mine.begin(), mine.end());
        std::sort(theirs.begin(), theirs.end());
        if (mine != theirs)
            return differ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, &given,
                          given.before.empty() ? nullptr : given.before[0]);
        if (const auto* kernel = std::get_if<KernelCall>(&ours.work))
            if (kernel->context != std::get<KernelCall>(given.work).context)
                return differ(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, &given);
        if (const auto* child = std::get_if<ChildGraph>(&ours.work))
            return run(*child->graph, *std::get<ChildGraph>(given.work).graph);
        if (const auto* choice = std::get_if<ConditionalNode>(&ours.work)) {
            const auto& other = std::get<ConditionalNode>(given.work);
            if (choice->kind != other.kind || choice->bodies.size() != other.bodies.size())
                return differ(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, &given);
            // Each condition is one word, which another executable graph may already use.
            if (choice->condition != other.condition && other.condition->instantiated)
                return differ(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, &given);
            for (std::size_t n = 0; n < choice->bodies.size(); ++n)
                if (const auto result = run(*choice->bodies[n], *other.bodies[n])) return result;
        }
        // The arguments of kernel nodes already contain the old address.
        if (const auto* made = std::get_if<AllocateNode>(&ours.work))
            if (made->memory != std::get<AllocateNode>(given.work).memory)
                return differ(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, &given);
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
};

// Called after a successful comparison.
void take_over(const Graph& mine, const Graph& theirs) {
    for (std::size_t i = 0; i < mine.nodes().size(); ++i) {
        Node &ours = *mine.nodes()[i], &given = *theirs.nodes()[i];
        const auto inner = inner_graphs(ours.work), other = inner_graphs(given.work);
        for (std::size_t n = 0; n < inner.size(); ++n) take_over(*inner[n], *other[n]);
        // Kernels of the other graph use the other handle.
        if (auto* choice = std::get_if<ConditionalNode>(&ours.work))
            choice->condition = std::get<ConditionalNode>(given.work).condition;
        if (inner.empty()) ours.work = given.work;
    }
}

struct Recorded {
    std::shared_ptr<Event> event;
    std::shared_ptr<Event::Record> record;
    std::size_t place;
};

}  // namespace

std::unique_ptr<Operation> plain_operation(const Work& work, const Stream& stream,
                                           std::shared_ptr<GraphRun> run) {
    if (const auto* kernel = std::get_if<KernelCall>(&work))
        return grid_operation(KernelCall(*kernel), stream.priority(), std::move(run));
    if (const auto* copy = std::get_if<Copy>(&work)) return copy_operation(*copy, stream);
    if (const auto* fill = std::get_if<Fill>(&work)) return fill_operation(*fill, stream);
    return nullptr;
}

GraphExec::GraphExec(const Graph& graph, unsigned long long flags)
    : flags_(flags),
      device_(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
                  ? std::make_shared<DeviceGraph>(handle())
                  : nullptr),
      graph_(graph.clone(false)) {
    list(*graph_, order_);
    conditions_ = graph.all_conditions();
    for (const auto& condition : conditions_) require(condition->taken);
    // Each condition is one word, which only one executable graph may use.
    std::size_t taken = 0;
    while (taken < conditions_.size() && !conditions_[taken]->instantiated.exchange(true)) ++taken;
    if (taken == conditions_.size()) {
        first_conditions_ = conditions_;
        return;
    }
    while (taken > 0) conditions_[--taken]->instantiated = false;
    fail(CUDA_ERROR_NOT_SUPPORTED);
}

GraphExec::~GraphExec() {
    for (const auto* taken : {&first_conditions_, &conditions_})
        for (const auto& condition : *taken) condition->instantiated = false;
}

void GraphExec::list(const Graph& graph, std::vector<Node*>& order) {
    const auto sorted = graph.sorted();
    require(sorted.size() == graph.nodes().size());
    for (Node* node : sorted) {
        by_origin_[node->origin] = node;
        if (const auto* child = std::get_if<ChildGraph>(&node->work))
            list(*child->graph, order);
        else
            order.push_back(node);
        if (const auto* choice = std::get_if<ConditionalNode>(&node->work)) list_bodies(*choice);
    }
}

// The kinds of nodes that cuda.h allows in a body. NVIDIA's driver refuses others here, not when
// they are added.
void GraphExec::list_bodies(const ConditionalNode& choice) {
    for (const auto& body : choice.bodies) {
        auto& order = bodies_[body.get()];
        list(*body, order);
        for (const Node* node : order) {
            const Work& work = node->work;
            require(std::holds_alternative<KernelCall>(work) ||
                        std::holds_alternative<Copy>(work) || std::holds_alternative<Fill>(work) ||
                        std::holds_alternative<EmptyNode>(work) ||
                        std::holds_alternative<ConditionalNode>(work),
                    CUDA_ERROR_INVALID_VALUE);
        }
    }
}

// Copies the nodes, so later changes of the graph do not affect running bodies.
Steps GraphExec::steps(const Graph& body, Stream& stream,
                       const std::shared_ptr<GraphRun>& run) const {
    Steps all;
    for (const Node* node : bodies_.at(&body)) {
        if (!node->enabled) continue;
        if (std::holds_alternative<EmptyNode>(node->work)) continue;
        if (const auto* kernel = std::get_if<KernelCall>(&node->work)) {
            // A new grid for each run, because a grid runs once.
            all.push_back([call = *kernel, priority = stream.priority(), run] {
                grid_operation(KernelCall(call), priority, run)->run(CUDA_SUCCESS);
            });
            continue;
        }
        // The launch checks copies and fills here, like those outside of bodies.
        const auto* choice = std::get_if<ConditionalNode>(&node->work);
        const std::shared_ptr<Operation> work =
            choice ? conditional_operation(*choice, bodies(*choice, stream, run))
                   : plain_operation(node->work, stream, run);
        all.push_back([work] { work->run(CUDA_SUCCESS); });
    }
    return all;
}

std::vector<Steps> GraphExec::bodies(const ConditionalNode& choice, Stream& stream,
                                     const std::shared_ptr<GraphRun>& run) const {
    std::vector<Steps> all;
    for (const auto& body : choice.bodies) all.push_back(steps(*body, stream, run));
    return all;
}

Node& GraphExec::node(CUgraphNode origin) {
    const auto it = by_origin_.find(origin);
    require(it != by_origin_.end());
    return *it->second;
}

Node& GraphExec::node(CUgraphNode origin, CUgraphNodeType type) {
    Node& found = node(origin);
    require(found.type() == type);
    return found;
}

CUgraphExecUpdateResult GraphExec::update_child(CUgraphNode origin, const Graph& graph) {
    const Graph& mine = *std::get<ChildGraph>(node(origin, CU_GRAPH_NODE_TYPE_GRAPH).work).graph;
    CUgraphExecUpdateResultInfo info{};
    const auto result = Comparison{info}.run(mine, graph);
    if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS) take_over(mine, graph);
    return result;
}

// Applies the graph's allocations and frees to the memory that the program owns after the launch.
void GraphExec::allocate() {
    const bool again = flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    for (const Node* node : order_) {
        const auto* made = std::get_if<AllocateNode>(&node->work);
        // Memory that an earlier launch allocated and has not freed.
        require(!made || again || !made->memory->live());
    }
    for (const Node* node : order_) {
        if (const auto* made = std::get_if<AllocateNode>(&node->work)) made->memory->take();
        if (const auto* freed = std::get_if<FreeNode>(&node->work)) freed->memory->give();
    }
}

CUgraphExecUpdateResult GraphExec::update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
    info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
    if (device_)
        if (const auto refusal = find_refusal(graph, true)) {
            info.errorNode = refusal->node->handle();
            return info.result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
        }
    const auto result = Comparison{info}.run(*graph_, graph);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
    take_over(*graph_, graph);
    take_conditions(graph.all_conditions());
    return result;
}

// The conditions of the first graph stay in use, as in NVIDIA's driver.
void GraphExec::take_conditions(std::vector<std::shared_ptr<Conditional>> conditions) {
    for (const auto& condition : conditions_) condition->instantiated = false;
    conditions_ = std::move(conditions);
    for (const auto* taken : {&first_conditions_, &conditions_})
        for (const auto& condition : *taken) condition->instantiated = true;
}

bool GraphExec::launches_graphs() const {
    const auto any = [](const std::vector<Node*>& nodes) {
        return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
            const auto* kernel = std::get_if<KernelCall>(&node->work);
            return kernel && kernel->function->kernel().launches_graphs();
        });
    };
    return any(order_) || std::any_of(bodies_.begin(), bodies_.end(),
                                      [&](const auto& body) { return any(body.second); });
}

// An update of the graph changes nothing on the device until the next upload.
std::unique_ptr<Operation> GraphExec::upload_operation() const {
    auto nodes = std::make_shared<GraphLaunch::Nodes>();
    for (const Node* node : order_)
        if (node->enabled) nodes->push_back(node->work);
    return task([device = device_, nodes = std::move(nodes)](CUresult) { device->upload(nodes); });
}

void GraphExec::upload(Stream& stream) {
    if (device_) stream.submit(upload_operation());
}

// Submits the nodes to the stream without other work in between, in topological order. So each
// kernel can use all workers.
void GraphExec::launch(Stream& stream) {
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<Recorded> recorded;
    std::shared_ptr<GraphRun> run;
    if (device_) operations.push_back(upload_operation());
    if (device_ || launches_graphs()) {
        run = GraphRun::of_host(stream.context_pointer(), device_);
        operations.push_back(task([run](CUresult) { run->begin(); }));
    }
    if (!conditions_.empty())
        operations.push_back(task([conditions = conditions_](CUresult) {
            for (const auto& condition : conditions) condition->begin();
        }));
    for (Node* node : order_) {
        if (!node->enabled) continue;
        std::unique_ptr<Operation> operation = plain_operation(node->work, stream, run);
        if (const auto* choice = std::get_if<ConditionalNode>(&node->work)) {
            operation = conditional_operation(*choice, bodies(*choice, stream, run));
        } else if (const auto* host = std::get_if<HostCall>(&node->work)) {
            operation = host_operation(host->function, host->data);
        } else if (const auto* wait = std::get_if<WaitNode>(&node->work)) {
            operation = wait->event->wait_operation(stream);
        } else if (const auto* record = std::get_if<RecordNode>(&node->work)) {
            auto made = std::make_shared<Event::Record>();
            made->mark.stream = stream.shared_from_this();
            operation = record->event->stamp(made);
            recorded.push_back({record->event, std::move(made), operations.size()});
        } else if (const auto* words = std::get_if<MemoryOperations>(&node->work)) {
            operation = memory_operation(*words);
        }
        if (operation) operations.push_back(std::move(operation));
    }
    if (run) operations.push_back(task([run](CUresult) { run->end(); }));
    allocate();
    // Keeps memory of allocation and free nodes alive for this launch, even if the graph is
    // destroyed.
    std::vector<std::shared_ptr<GraphMemory>> kept;
    for (const Node* node : order_) {
        if (const auto* made = std::get_if<AllocateNode>(&node->work)) kept.push_back(made->memory);
        if (const auto* freed = std::get_if<FreeNode>(&node->work)) kept.push_back(freed->memory);
    }
    if (!kept.empty()) operations.push_back(task([kept = std::move(kept)](CUresult) {}));
    if (operations.empty()) operations.push_back(task([](CUresult) {}));
    if (last_.stream && last_.stream.get() != &stream && !last_.stream->done(last_.ticket))
        operations.front()->waits.push_back(last_);
    const std::size_t count = operations.size();
    last_ = {stream.shared_from_this(), stream.submit(std::move(operations))};
    for (auto& each : recorded) {
        each.record->mark.ticket = last_.ticket - count + 1 + each.place;
        each.event->set(std::move(each.record));
    }
}

}  // namespace cupola::cpu
