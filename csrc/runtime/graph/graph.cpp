// csrc/runtime/graph/graph.cpp - graphs, and the objects that their nodes keep alive.
#include "runtime/graph/graph.hpp"

#include <algorithm>
#include <cstring>

namespace cupola {
namespace {

// Every word of a buffer may be an address inside a struct.
void words(const void* bytes, std::size_t size, Numbers& numbers) {
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const char*>(bytes) + at, sizeof word);
        if (word) numbers.push_back(word);
    }
}

// False where the driver does not report the sizes.
bool find_sizes(const Driver& driver, CUfunction function, CUmodule module,
                std::vector<std::uint32_t>& sizes) {
    if (auto* info = driver.cuFuncGetParamInfo) {
        std::size_t offset = 0, size = 0;
        while (info(function, sizes.size(), &offset, &size) == CUDA_SUCCESS)
            sizes.push_back(static_cast<std::uint32_t>(size));
        return true;
    }
    const auto found = RetainedObject::find(reinterpret_cast<std::uintptr_t>(module));
    const auto* ours = dynamic_cast<const Module*>(found.get());
    return ours && ours->sizes_of(function, sizes);
}

void kernel_numbers(const Driver& d, CUgraphNode node, Numbers& numbers) {
    CUDA_KERNEL_NODE_PARAMS_v1 given{};
    if (d.cuGraphKernelNodeGetParams(node, &given) != CUDA_SUCCESS || !given.func) return;
    CUmodule module = nullptr;
    if (d.cuFuncGetModule(&module, given.func) == CUDA_SUCCESS)
        numbers.push_back(reinterpret_cast<std::uintptr_t>(module));
    if (!given.kernelParams) return;
    std::vector<std::uint32_t> sizes;
    // The parameters of another library's kernel are unknown on old drivers: it may use any object.
    if (!find_sizes(d, given.func, module, sizes)) return RetainedObject::list_all(numbers);
    for (std::size_t i = 0; i < sizes.size(); ++i) words(given.kernelParams[i], sizes[i], numbers);
}

// The addresses and handles that a node refers to.
Numbers numbers_of(const Driver& d, CUgraphNode node) {
    Numbers numbers;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUPOLA_CALL(d, cuGraphNodeGetType, node, &type);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
        kernel_numbers(d, node, numbers);
    } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        CUDA_MEMCPY3D copy{};
        if (d.cuGraphMemcpyNodeGetParams(node, &copy) == CUDA_SUCCESS)
            numbers = {copy.srcDevice, copy.dstDevice,
                       reinterpret_cast<std::uintptr_t>(copy.srcHost),
                       reinterpret_cast<std::uintptr_t>(copy.dstHost)};
    } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
        CUDA_MEMSET_NODE_PARAMS fill{};
        if (d.cuGraphMemsetNodeGetParams(node, &fill) == CUDA_SUCCESS) numbers = {fill.dst};
    }
    return numbers;
}

}  // namespace

std::vector<CUgraphNode> nodes_of(const Driver& driver, CUgraph graph) {
    std::size_t count = 0;
    CUPOLA_CALL(driver, cuGraphGetNodes, graph, nullptr, &count);
    std::vector<CUgraphNode> nodes(count);
    if (count) CUPOLA_CALL(driver, cuGraphGetNodes, graph, nodes.data(), &count);
    nodes.resize(count);
    return nodes;
}

Edges edges_of(const Driver& driver, CUgraph graph) {
    std::size_t count = 0;
    CUPOLA_CALL(driver, cuGraphGetEdges, graph, nullptr, nullptr, &count);
    Edges edges{std::vector<CUgraphNode>(count), std::vector<CUgraphNode>(count)};
    if (count)
        CUPOLA_CALL(driver, cuGraphGetEdges, graph, edges.from.data(), edges.to.data(), &count);
    return edges;
}

int places_of(const Driver& driver, CUgraph graph) {
    const auto nodes = nodes_of(driver, graph);
    const Edges edges = edges_of(driver, graph);
    const auto repeats = [](std::vector<CUgraphNode> ends) {
        std::sort(ends.begin(), ends.end());
        return std::adjacent_find(ends.begin(), ends.end()) != ends.end();
    };
    const bool row =
        edges.from.size() + 1 == nodes.size() && !repeats(edges.from) && !repeats(edges.to);
    int inside = 0;
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(driver, cuGraphNodeGetType, node, &type);
        if (type != CU_GRAPH_NODE_TYPE_GRAPH) continue;
        CUgraph child = nullptr;
        CUPOLA_CALL(driver, cuGraphChildGraphNodeGetGraph, node, &child);
        inside += places_of(driver, child);
    }
    return inside + (row ? 1 : static_cast<int>((nodes.size() + 7) / 8));
}

RetainedObjects& RetainedByNode::at(CUgraphNode node) {
    auto& retained = by_node[node];
    if (!retained) retained = std::make_shared<RetainedObjects>();
    return *retained;
}

void RetainedByNode::hold(CUgraphNode node, Ref<Object> object) {
    at(node).hold(std::move(object));
}

void RetainedByNode::hold_used(CUgraphNode node, Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    at(node);
    RetainedObject::hold(numbers, by_node[node]);
}

void RetainedByNode::hold_used(CUgraphNode node, const Kernel& kernel, const void* buffer) {
    Numbers numbers;
    for (const Parameter& parameter : kernel.parameters())
        words(static_cast<const char*>(buffer) + parameter.offset, parameter.size, numbers);
    hold_used(node, std::move(numbers));
}

void RetainedByNode::add(const RetainedByNode& other) {
    for (const auto& [_, from] : other.by_node) {
        std::vector<Ref<Object>> held;
        {
            std::lock_guard<std::mutex> lock(from->mutex);
            held = from->held;
        }
        RetainedObjects& into = at(nullptr);
        std::lock_guard<std::mutex> lock(into.mutex);
        into.held.insert(into.held.end(), held.begin(), held.end());
    }
    calls.insert(calls.end(), other.calls.begin(), other.calls.end());
}

Graph::Graph(Context& context) : context(context) {
    ContextScope current(context);
    CUPOLA_CALL(context.driver, cuGraphCreate, &handle, 0);
}

Graph::~Graph() {
    if (parent_) return;
    const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
    if (const Driver* d = context.driver.alive()) d->cuGraphDestroy(handle);
}

Ref<Graph> Graph::end_capture(Stream& stream) {
    Ref<Graph> graph;
    Capture::end(stream, [&](Capture& capture, CUgraph handle) {
        graph = make<Graph>(stream.context, handle);
        graph->adopt(capture);
    });
    return graph;
}

void Graph::adopt(Capture& capture) {
    retained.by_node[nullptr] = capture.retained;
    retained.calls = std::move(capture.calls);
    for (CUgraphNode node : nodes_of(context.driver, handle))
        retained.hold_used(node, numbers_of(context.driver, node));
}

void find_kernels(const Driver& d, CUgraph graph, std::map<CUgraphNode, CUfunction>& kernels) {
    for (CUgraphNode node : nodes_of(d, graph)) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(d, cuGraphNodeGetType, node, &type);
        CUgraph child = nullptr;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS_v1 given{};
            const bool known = d.cuGraphKernelNodeGetParams(node, &given) == CUDA_SUCCESS;
            kernels[node] = known ? given.func : nullptr;
        } else if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
                   d.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS) {
            find_kernels(d, child, kernels);
        }
    }
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(Kernel& kernel, const cupola_dimensions& d,
                                          const void* buffer, std::vector<void*>& pointers) {
    kernel.check_launch(d, nullptr);
    kernel.allow_shared(d.shared);
    auto* bytes = static_cast<char*>(const_cast<void*>(buffer));
    for (const Parameter& parameter : kernel.parameters())
        pointers.push_back(bytes + parameter.offset);
    CUDA_KERNEL_NODE_PARAMS given{};
    given.func = kernel.handle;
    given.gridDimX = d.grid[0];
    given.gridDimY = d.grid[1];
    given.gridDimZ = d.grid[2];
    given.blockDimX = d.block[0];
    given.blockDimY = d.block[1];
    given.blockDimZ = d.block[2];
    given.sharedMemBytes = d.shared;
    given.kernelParams = pointers.data();
    return given;
}

}  // namespace cupola
