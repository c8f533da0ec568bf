// csrc/cpu/api/graph.cpp - cu* entry points: graphs, their edges, and launching them.
#include "cpu/api/graph.hpp"

#include <algorithm>
#include <cstdio>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/launch/device_graph.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

// cuda.h maps the plain name to the newest version.
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies

using namespace cupola::cpu;

namespace {

std::shared_ptr<Graph> graph_of(CUgraph handle) {
    return Driver::get().graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
}
std::shared_ptr<GraphExec> exec_of(CUgraphExec handle) {
    return Driver::get().graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
}

// The convention of functions that list nodes: without `out` they return the number, otherwise as
// many as fit, followed by nulls.
template <class Nodes>
void list(const Nodes& nodes, CUgraphNode* out, size_t* count) {
    require(count);
    if (out) {
        const size_t room = *count;
        for (size_t i = 0; i < room; ++i) out[i] = i < nodes.size() ? nodes[i]->handle() : nullptr;
        *count = std::min(room, nodes.size());
    } else {
        *count = nodes.size();
    }
}

// Lists neighbouring nodes. The caller must have room for at least one node.
void list_neighbours(const std::vector<Node*>& nodes, CUgraphNode* out, size_t* count) {
    require(count && (!out || *count));
    list(nodes, out, count);
}

void edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    require(count && (from == nullptr) == (to == nullptr));
    std::vector<Node*> starts, ends;
    for (const auto& node : graph_of(graph)->nodes())
        for (Node* after : node->after) {
            starts.push_back(node.get());
            ends.push_back(after);
        }
    size_t room = *count;
    list(starts, from, count);
    if (to) list(ends, to, &room);
}

void default_edges(CUgraphEdgeData* data, const size_t* count) {
    if (data)
        for (size_t i = 0; i < *count; ++i) data[i] = {};
}

template <class Change>
CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
                      Change&& change) {
    return locked([&] {
        const auto graph = graph_of(handle);
        require(count == 0 || (from && to));
        for (size_t i = 0; i < count; ++i) change(*graph, *node_of(from[i]), *node_of(to[i]));
    });
}

// The call allocates on the device, which a capture forbids.
template <class Body>
CUresult made_ready(Body&& body) {
    const CUresult code = entry([] {
        Capture::forbid(Driver::get());
        return CUDA_SUCCESS;
    });
    return code == CUDA_SUCCESS ? locked(std::forward<Body>(body)) : code;
}

// Sets `refusal` if a node does not permit the instantiation. Uploads if a stream is given.
void instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags,
                 std::optional<GraphRefusal>& refusal, Stream* upload = nullptr) {
    constexpr unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    require(out && !(flags & ~known));
    const bool device = flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    require(!device || !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    const auto graph = graph_of(handle);
    // A memory node has one address, which one executable graph at a time uses.
    const bool has_memory = graph->has_memory();
    require(!graph->is_moved(), has_memory ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    require(!has_memory || graph->memory_user.expired(), CUDA_ERROR_NOT_SUPPORTED);
    refusal = find_refusal(*graph, device);
    require(!refusal, CUDA_ERROR_NOT_SUPPORTED);
    auto exec = std::make_shared<GraphExec>(*graph, flags);
    require(!device || !exec->empty());
    if (upload) exec->upload(*upload);
    if (has_memory) graph->memory_user = exec;
    *out = exec->handle();
    Driver::get().graph_execs.add(std::move(exec));
}

const char* title(const Node& node) {
    static const char* const names[] = {"kernel",   "copy",  "fill",  "host",
                                        "graph",    "empty", "wait",  "record",
                                        "allocate", "free",  "words", "conditional"};
    return names[node.work.index()];
}

void print(std::FILE* file, const Graph& graph) {
    for (const auto& node : graph.nodes()) {
        std::fprintf(file, "  n%p [label=\"%s", static_cast<void*>(node.get()), title(*node));
        if (const auto* kernel = std::get_if<KernelCall>(&node->work)) {
            const Dim3 &grid = kernel->shape.grid, &block = kernel->shape.block;
            std::fprintf(file, "\\n%s\\n(%u,%u,%u) x (%u,%u,%u)",
                         std::string(kernel->function->kernel().name()).c_str(), grid.x, grid.y,
                         grid.z, block.x, block.y, block.z);
        }
        std::fprintf(file, "\"];\n");
        for (const auto& inner : inner_graphs(node->work)) {
            std::fprintf(file, "  subgraph cluster_%p {\n", static_cast<void*>(inner.get()));
            print(file, *inner);
            std::fprintf(file, "  }\n");
        }
    }
    for (const auto& node : graph.nodes())
        for (const Node* after : node->after)
            std::fprintf(file, "  n%p -> n%p;\n", static_cast<void*>(node.get()),
                         static_cast<const void*>(after));
}

}  // namespace

CUPOLA_API CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
    return locked([&] {
        require(graph && flags == 0);
        *graph = Graph::make(Driver::get())->handle();
    });
}

CUPOLA_API CUresult cuGraphDestroy(CUgraph handle) {
    return locked([&] {
        const auto graph = graph_of(handle);
        require(graph->owner == nullptr);  // a child graph belongs to its node
        graph->forget();
    });
}

CUPOLA_API CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
    return locked([&] {
        require(out);
        const auto whole = graph_of(graph);
        require(!whole->has_conditions(), CUDA_ERROR_NOT_SUPPORTED);
        // Memory nodes have a fixed address, so they cannot be cloned.
        require(!whole->has_own_memory(), CUDA_ERROR_NOT_SUPPORTED);
        *out = whole->clone(true)->handle();
    });
}

CUPOLA_API CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
    return locked([&] {
        require(out);
        for (const auto& node : graph_of(clone)->nodes())
            if (node->origin == original) {
                *out = node->handle();
                return;
            }
        fail(CUDA_ERROR_INVALID_VALUE);
    });
}

CUPOLA_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    return locked([&] { list(graph_of(graph)->nodes(), nodes, count); });
}

CUPOLA_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    return locked([&] {
        std::vector<Node*> roots;
        for (const auto& node : graph_of(graph)->nodes())
            if (node->before.empty()) roots.push_back(node.get());
        list(roots, nodes, count);
    });
}

CUPOLA_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                    size_t* count) {
    return locked([&] { edges(graph, from, to, count); });
}
CUPOLA_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                       CUgraphEdgeData* data, size_t* count) {
    return locked([&] {
        edges(graph, from, to, count);
        if (from) default_edges(data, count);
    });
}

CUPOLA_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
    return locked([&] { list_neighbours(node_of(node)->before, out, count); });
}
CUPOLA_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out,
                                                  CUgraphEdgeData* data, size_t* count) {
    return locked([&] {
        list_neighbours(node_of(node)->before, out, count);
        if (out) default_edges(data, count);
    });
}

CUPOLA_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out,
                                                 size_t* count) {
    return locked([&] { list_neighbours(node_of(node)->after, out, count); });
}
CUPOLA_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out,
                                                    CUgraphEdgeData* data, size_t* count) {
    return locked([&] {
        list_neighbours(node_of(node)->after, out, count);
        if (out) default_edges(data, count);
    });
}

CUPOLA_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                           const CUgraphNode* to, size_t count) {
    return change_edges(graph, from, to, count,
                        [](Graph& it, Node& start, Node& end) { it.link(start, end); });
}
CUPOLA_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                              const CUgraphNode* to, const CUgraphEdgeData* data,
                                              size_t count) {
    size_t next = 0;
    return change_edges(graph, from, to, count, [&](Graph& it, Node& start, Node& end) {
        if (data) check_edge(data[next++], start);
        it.link(start, end);
    });
}

CUPOLA_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                              const CUgraphNode* to, size_t count) {
    return change_edges(graph, from, to, count, [](Graph& it, Node& start, Node& end) {
        require(!it.has_own_memory(), CUDA_ERROR_NOT_SUPPORTED);
        it.unlink(start, end);
    });
}
CUPOLA_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                 const CUgraphNode* to, const CUgraphEdgeData*,
                                                 size_t count) {
    return cuGraphRemoveDependencies(graph, from, to, count);
}

CUPOLA_API CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned int flags) {
    return locked([&] {
        require(path && !(flags & ~0xffffu));
        const auto which = graph_of(graph);
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"),
                                                                   &std::fclose);
        require(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
        std::fprintf(file.get(), "digraph graph_%p {\n", static_cast<void*>(which.get()));
        print(file.get(), *which);
        std::fprintf(file.get(), "}\n");
    });
}

// Executable graphs.

CUPOLA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                unsigned long long flags) {
    return made_ready([&] {
        require(!(flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD));  // an upload needs a stream
        std::optional<GraphRefusal> refusal;
        instantiate(exec, graph, flags, refusal);
    });
}

CUPOLA_API CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return made_ready([&] {
        require(parameters);
        parameters->hErrNode_out = nullptr;
        parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
        std::shared_ptr<Stream> upload;
        if (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
            upload = stream_of(parameters->hUploadStream);
        std::optional<GraphRefusal> refusal;
        try {
            instantiate(exec, graph, parameters->flags, refusal, upload.get());
        } catch (const Failure&) {
            if (refusal) {
                parameters->result_out = refusal->result;
                parameters->hErrNode_out = refusal->node->handle();
            }
            throw;
        }
        parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    });
}
CUPOLA_API CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return cuGraphInstantiateWithParams(exec, graph, parameters);
}

CUPOLA_API CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error,
                                          char* log, size_t size) {
    if (error) *error = nullptr;
    if (log && size) *log = 0;
    return cuGraphInstantiateWithFlags(exec, graph, 0);
}
CUPOLA_ALIAS(cuGraphInstantiate, cuGraphInstantiate_v2);

CUPOLA_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
    return entry([&] {
        Capture::forbid(Driver::get());
        return Driver::get().graph_execs.remove(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream on) {
    return entry([&] {
        const auto exec = exec_of(handle);
        const auto stream = stream_of(on);
        // An executable graph cannot be a child of another graph.
        Capture::forbid(*stream);
        std::lock_guard lock(exec->mutex);
        exec->launch(*stream);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    return cuGraphLaunch(exec, Stream::per_thread(stream));
}

// Only launches by device code need an upload.
CUPOLA_API CUresult cuGraphUpload(CUgraphExec handle, CUstream on) {
    return entry([&] {
        const auto exec = exec_of(handle);
        const auto stream = stream_of(on);
        if (!exec->device()) return CUDA_SUCCESS;
        Capture::forbid(*stream);
        std::lock_guard lock(exec->mutex);
        exec->upload(*stream);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
    return cuGraphUpload(exec, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
    return entry([&] {
        const auto which = exec_of(exec);
        require(flags);
        // An upload was part of the instantiation.
        *flags = which->flags() & ~cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                         CUgraphExecUpdateResultInfo* info) {
    return locked([&] {
        CUgraphExecUpdateResultInfo unseen;
        const auto which = exec_of(exec);
        std::lock_guard lock(which->mutex);
        const auto with = graph_of(graph);
        require(!with->is_moved());
        require(which->update(*with, info ? *info : unseen) == CU_GRAPH_EXEC_UPDATE_SUCCESS,
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    });
}
CUPOLA_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* node,
                                      CUgraphExecUpdateResult* result) {
    if (!node || !result) return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    const CUresult code = cuGraphExecUpdate_v2(exec, graph, &info);
    *node = info.errorNode;
    *result = info.result;
    return code;
}
