// csrc/runtime/graph.cpp - graphs: their nodes, and holding what those use.
#include "runtime/graph.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/name.hpp"

namespace cupola {
namespace {

// Every word of a buffer that may be an address, wherever a struct may hide it.
void words(const void* bytes, std::size_t size, Numbers& numbers) {
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const char*>(bytes) + at, sizeof word);
        if (word) numbers.push_back(word);
    }
}

// False where nobody knows them.
bool find_sizes(CUfunction function, CUmodule module, std::vector<std::uint32_t>& sizes) {
    if (auto* info = driver().cuFuncGetParamInfo) {
        std::size_t offset = 0, size = 0;
        while (info(function, sizes.size(), &offset, &size) == CUDA_SUCCESS)
            sizes.push_back(static_cast<std::uint32_t>(size));
        return true;
    }
    const auto found = Resource::find(reinterpret_cast<std::uintptr_t>(module));
    const auto* ours = dynamic_cast<const Module*>(found.get());
    return ours && ours->sizes_of(function, sizes);
}

void kernel_numbers(CUgraphNode node, Numbers& numbers) {
    const Driver& d = driver();
    CUDA_KERNEL_NODE_PARAMS_v1 given{};
    if (d.cuGraphKernelNodeGetParams(node, &given) != CUDA_SUCCESS || !given.func) return;
    CUmodule module = nullptr;
    if (d.cuFuncGetModule(&module, given.func) == CUDA_SUCCESS)
        numbers.push_back(reinterpret_cast<std::uintptr_t>(module));
    if (!given.kernelParams) return;
    std::vector<std::uint32_t> sizes;
    // Another library's kernel, on a driver that does not tell: it may use all that there is.
    if (!find_sizes(given.func, module, sizes)) return Resource::list_all(numbers);
    for (std::size_t i = 0; i < sizes.size(); ++i) words(given.kernelParams[i], sizes[i], numbers);
}

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
    std::size_t count = 0;
    CUPOLA_CALL(cuGraphGetNodes, graph, nullptr, &count);
    std::vector<CUgraphNode> nodes(count);
    if (count) CUPOLA_CALL(cuGraphGetNodes, graph, nodes.data(), &count);
    nodes.resize(count);
    return nodes;
}

struct Edges {
    std::vector<CUgraphNode> from, to;
};

Edges edges_of(CUgraph graph) {
    std::size_t count = 0;
    CUPOLA_CALL(cuGraphGetEdges, graph, nullptr, nullptr, &count);
    Edges edges{std::vector<CUgraphNode>(count), std::vector<CUgraphNode>(count)};
    if (count) CUPOLA_CALL(cuGraphGetEdges, graph, edges.from.data(), edges.to.data(), &count);
    return edges;
}

// What a node refers to.
Numbers numbers_of(CUgraphNode node) {
    const Driver& d = driver();
    Numbers numbers;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUPOLA_CALL(cuGraphNodeGetType, node, &type);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
        kernel_numbers(node, numbers);
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

int places_of(CUgraph graph) {
    const auto nodes = nodes_of(graph);
    const Edges edges = edges_of(graph);
    const auto repeats = [](std::vector<CUgraphNode> ends) {
        std::sort(ends.begin(), ends.end());
        return std::adjacent_find(ends.begin(), ends.end()) != ends.end();
    };
    const bool row =
        edges.from.size() + 1 == nodes.size() && !repeats(edges.from) && !repeats(edges.to);
    int inside = 0;
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(cuGraphNodeGetType, node, &type);
        if (type != CU_GRAPH_NODE_TYPE_GRAPH) continue;
        CUgraph child = nullptr;
        CUPOLA_CALL(cuGraphChildGraphNodeGetGraph, node, &child);
        inside += places_of(child);
    }
    return inside + (row ? 1 : static_cast<int>((nodes.size() + 7) / 8));
}

Box& Holdings::box(CUgraphNode node) {
    auto& box = boxes[node];
    if (!box) box = std::make_shared<Box>();
    return *box;
}

void Holdings::hold(CUgraphNode node, Ref<Object> object) { box(node).hold(std::move(object)); }

void Holdings::hold_used(CUgraphNode node, Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    box(node);
    Resource::hold(numbers, boxes[node]);
}

void Holdings::hold_used(CUgraphNode node, const Kernel& kernel, const void* buffer) {
    Numbers numbers;
    for (const Parameter& parameter : kernel.parameters)
        words(static_cast<const char*>(buffer) + parameter.offset, parameter.size, numbers);
    hold_used(node, std::move(numbers));
}

void Holdings::add(const Holdings& other) {
    for (const auto& [_, from] : other.boxes) {
        std::vector<Ref<Object>> held;
        {
            std::lock_guard<std::mutex> lock(from->mutex);
            held = from->held;
        }
        Box& into = box(nullptr);
        std::lock_guard<std::mutex> lock(into.mutex);
        into.held.insert(into.held.end(), held.begin(), held.end());
    }
    calls.insert(calls.end(), other.calls.begin(), other.calls.end());
}

Graph::Graph(Context& context) : context(context) {
    Current current(context);
    CUPOLA_CALL(cuGraphCreate, &handle, 0);
}

Graph::~Graph() {
    if (parent_) return;
    const Capture::Relaxed relaxed(Capture::Relaxed::anybodys);
    if (const Driver* d = driver_alive()) d->cuGraphDestroy(handle);
}

void Graph::adopt(Capture& capture) {
    holdings.boxes[nullptr] = capture.box;
    holdings.calls = std::move(capture.calls);
    for (CUgraphNode node : nodes_of(handle)) holdings.hold_used(node, numbers_of(node));
}

void find_kernels(CUgraph graph, std::map<CUgraphNode, CUfunction>& kernels) {
    const Driver& d = driver();
    for (CUgraphNode node : nodes_of(graph)) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(cuGraphNodeGetType, node, &type);
        CUgraph child = nullptr;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS_v1 given{};
            const bool known = d.cuGraphKernelNodeGetParams(node, &given) == CUDA_SUCCESS;
            kernels[node] = known ? given.func : nullptr;
        } else if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
                   d.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS) {
            find_kernels(child, kernels);
        }
    }
}

CUDA_KERNEL_NODE_PARAMS kernel_parameters(Kernel& kernel, const cupola_dimensions& d,
                                          const void* buffer, std::vector<void*>& pointers) {
    kernel.check_launch(d, nullptr);
    kernel.allow_shared(d.shared);
    auto* bytes = static_cast<char*>(const_cast<void*>(buffer));
    for (const Parameter& parameter : kernel.parameters)
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

using namespace cupola;

namespace {

const CUgraphNode* nodes(const cupola_node* after) {
    return reinterpret_cast<const CUgraphNode*>(after);
}
CUgraphNode node_of(cupola_node node) { return static_cast<CUgraphNode>(node); }

// Memory that no driver knows is pageable memory of the host.
CUmemorytype memory_type(std::uint64_t address) {
    unsigned type = 0;
    const CUresult code =
        driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (code != CUDA_ERROR_INVALID_VALUE) check(code, "cuPointerGetAttribute");
    return code == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE ? CU_MEMORYTYPE_DEVICE
                                                                : CU_MEMORYTYPE_HOST;
}

template <class Add>
int add_node(cupola_graph* graph, const cupola_node* after, std::size_t count, cupola_node* out,
             Add&& add) {
    return guard([&] {
        Graph& g = *unwrap(required(graph, "graph"));
        required(out, "node");
        if (count) required(after, "after");
        Current current(g.context);
        CUgraphNode node = nullptr;
        add(g, &node, nodes(after));
        *out = node;
    });
}

}  // namespace

int cupola_graph_create(int device, cupola_graph** out) {
    return guard([&] {
        required(out, "out");
        *out = wrap(make<Graph>(context(device)).detach());
    });
}

int cupola_graph_add_kernel(cupola_graph* graph, const cupola_node* after, size_t count,
                            cupola_kernel* kernel, const cupola_dimensions* dimensions,
                            const void* buffer, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        Kernel& k = *unwrap(required(kernel, "kernel"));
        if (k.parameter_bytes) required(buffer, "buffer");
        if (&k.context != &g.context)
            fail(CUPOLA_ERROR_VALUE,
                 k.title + ": the kernel is loaded on device " + std::to_string(k.context.ordinal) +
                     ", the graph is of device " + std::to_string(g.context.ordinal));
        std::vector<void*> pointers;
        const auto given =
            kernel_parameters(k, *required(dimensions, "dimensions"), buffer, pointers);
        CUPOLA_CALL(cuGraphAddKernelNode, out, g.handle, before, count,
                    reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given));
        g.holdings.hold(*out, Ref<Object>::share(&k));
        g.holdings.hold_used(*out, k, buffer);
    });
}

int cupola_graph_add_copy(cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
                          uint64_t from, size_t bytes, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        if (!bytes) {
            CUPOLA_CALL(cuGraphAddEmptyNode, out, g.handle, before, count);
            return;
        }
        CUDA_MEMCPY3D copy{};
        copy.srcMemoryType = memory_type(from);
        copy.dstMemoryType = memory_type(to);
        copy.srcDevice = from;
        copy.dstDevice = to;
        copy.srcHost = reinterpret_cast<const void*>(from);
        copy.dstHost = reinterpret_cast<void*>(to);
        copy.WidthInBytes = bytes;
        copy.Height = copy.Depth = 1;
        CUPOLA_CALL(cuGraphAddMemcpyNode, out, g.handle, before, count, &copy, g.context.handle);
        g.holdings.hold_used(*out, {to, from});
    });
}

int cupola_graph_add_fill(cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
                          uint32_t value, int width, size_t elements, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        if (width != 1 && width != 2 && width != 4)
            fail(CUPOLA_ERROR_VALUE,
                 "a fill's width is 1, 2 or 4 bytes, not " + std::to_string(width));
        if (!elements) {
            CUPOLA_CALL(cuGraphAddEmptyNode, out, g.handle, before, count);
            return;
        }
        CUDA_MEMSET_NODE_PARAMS fill{};
        fill.dst = to;
        fill.value = value;
        fill.elementSize = static_cast<unsigned>(width);
        fill.width = elements;
        fill.height = 1;
        CUPOLA_CALL(cuGraphAddMemsetNode, out, g.handle, before, count, &fill, g.context.handle);
        g.holdings.hold_used(*out, {to});
    });
}

int cupola_graph_add_call(cupola_graph* graph, const cupola_node* after, size_t count,
                          void (*call)(void*), void* data, void (*release)(void*),
                          cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        required(reinterpret_cast<void*>(call), "call");
        auto callback = make<Callback>(call, data, release);
        const CUDA_HOST_NODE_PARAMS given{&Callback::run, callback.get()};
        const CUresult code = driver().cuGraphAddHostNode(out, g.handle, before, count, &given);
        if (code != CUDA_SUCCESS) {
            callback->disown();
            fail_driver(code, "cuGraphAddHostNode");
        }
        g.holdings.calls.push_back(std::move(callback));
    });
}

int cupola_graph_add_child(cupola_graph* graph, const cupola_node* after, size_t count,
                           const cupola_graph* child, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        Graph& other = *unwrap(const_cast<cupola_graph*>(required(child, "child")));
        if (&other == &g) fail(CUPOLA_ERROR_VALUE, "a graph can't be a part of itself");
        CUPOLA_CALL(cuGraphAddChildGraphNode, out, g.handle, before, count, other.handle);
        g.holdings.add(other.holdings);
    });
}

int cupola_graph_add_empty(cupola_graph* graph, const cupola_node* after, size_t count,
                           cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        CUPOLA_CALL(cuGraphAddEmptyNode, out, g.handle, before, count);
    });
}

int cupola_graph_add_edge(cupola_graph* graph, cupola_node from, cupola_node to) {
    return guard([&] {
        Graph& g = *unwrap(required(graph, "graph"));
        const CUgraphNode start = node_of(from), end = node_of(to);
        const CUresult code = driver().cuGraphAddDependencies(g.handle, &start, &end, 1);
        if (code == CUDA_ERROR_INVALID_VALUE)
            fail_driver(code, "cuGraphAddDependencies",
                        "the nodes must be two of this graph, without such an edge or a circle");
        check(code, "cuGraphAddDependencies");
    });
}

int cupola_graph_hold(cupola_graph* graph, cupola_node node, void* owner, void (*release)(void*)) {
    return guard([&] {
        Graph& g = *unwrap(required(graph, "graph"));
        auto kept = make<Owner>(owner, release);
        g.holdings.hold(node_of(node), Ref<Object>::adopt(kept.detach()));
    });
}

int cupola_graph_nodes(const cupola_graph* graph, cupola_node* out, size_t* count) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(required(graph, "graph")));
        const auto found = nodes_of(g.handle);
        for (std::size_t i = 0; out && i < std::min(found.size(), *required(count, "count")); ++i)
            out[i] = found[i];
        *required(count, "count") = found.size();
    });
}

int cupola_graph_edges(const cupola_graph* graph, cupola_node* from, cupola_node* to,
                       size_t* count) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(required(graph, "graph")));
        const Edges found = edges_of(g.handle);
        const std::size_t all = found.from.size();
        for (std::size_t i = 0; from && to && i < std::min(all, *required(count, "count")); ++i) {
            from[i] = found.from[i];
            to[i] = found.to[i];
        }
        *required(count, "count") = all;
    });
}

int cupola_node_get(const cupola_graph* graph, cupola_node node, cupola_node_info* out) {
    thread_local std::string title;
    return guard([&] {
        required(graph, "graph");
        required(out, "out");
        const Driver& d = driver();
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(cuGraphNodeGetType, node_of(node), &type);
        *out = {};
        title.clear();
        out->type = type;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS_v1 given{};
            CUPOLA_CALL(cuGraphKernelNodeGetParams, node_of(node), &given);
            out->dimensions = {{given.gridDimX, given.gridDimY, given.gridDimZ},
                               {given.blockDimX, given.blockDimY, given.blockDimZ},
                               given.sharedMemBytes};
            const char* name = nullptr;
            if (given.func && d.cuFuncGetName &&
                d.cuFuncGetName(&name, given.func) == CUDA_SUCCESS && name)
                title = base_name(demangle(name));
        } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
            CUDA_MEMCPY3D copy{};
            CUPOLA_CALL(cuGraphMemcpyNodeGetParams, node_of(node), &copy);
            const auto side = [](CUmemorytype kind, CUdeviceptr device, const void* host) {
                return kind == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host) : device;
            };
            out->to = side(copy.dstMemoryType, copy.dstDevice, copy.dstHost);
            out->from = side(copy.srcMemoryType, copy.srcDevice, copy.srcHost);
            out->bytes = copy.WidthInBytes * copy.Height * copy.Depth;
        } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
            CUDA_MEMSET_NODE_PARAMS fill{};
            CUPOLA_CALL(cuGraphMemsetNodeGetParams, node_of(node), &fill);
            out->to = fill.dst;
            out->bytes = fill.elementSize * fill.width * fill.height;
        }
        out->title = title.c_str();
    });
}

int cupola_node_child(cupola_graph* graph, cupola_node node, cupola_graph** out) {
    return guard([&] {
        auto parent = Ref<Graph>::share(unwrap(required(graph, "graph")));
        required(out, "out");
        CUgraph child = nullptr;
        CUPOLA_CALL(cuGraphChildGraphNodeGetGraph, node_of(node), &child);
        *out = wrap(make<Graph>(std::move(parent), child).detach());
    });
}

void* cupola_graph_handle(const cupola_graph* graph) {
    return graph ? unwrap(const_cast<cupola_graph*>(graph))->handle : nullptr;
}
int cupola_graph_device(const cupola_graph* graph) {
    return graph ? unwrap(const_cast<cupola_graph*>(graph))->context.ordinal : -1;
}
void cupola_graph_retain(cupola_graph* graph) {
    if (graph) unwrap(graph)->retain();
}
void cupola_graph_release(cupola_graph* graph) {
    if (graph) unwrap(graph)->release();
}
