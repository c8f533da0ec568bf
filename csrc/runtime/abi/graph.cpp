// csrc/runtime/abi/graph.cpp - the functions of cupola/graph.h.
#include "cupola/graph.h"

#include <algorithm>

#include "platform/demangle.hpp"
#include "runtime/context/device.hpp"
#include "runtime/graph/graph.hpp"

using namespace cupola;

namespace {

const CUgraphNode* nodes(const cupola_node* after) {
    return reinterpret_cast<const CUgraphNode*>(after);
}
CUgraphNode node_of(cupola_node node) { return static_cast<CUgraphNode>(node); }

// Memory that the driver does not know is pageable host memory.
CUmemorytype memory_type(const Driver& driver, std::uint64_t address) {
    unsigned type = 0;
    const CUresult code =
        driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (code != CUDA_ERROR_INVALID_VALUE) check(driver, code, "cuPointerGetAttribute");
    return code == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE ? CU_MEMORYTYPE_DEVICE
                                                                : CU_MEMORYTYPE_HOST;
}

template <class Add>
int add_node(cupola_graph* graph, const cupola_node* after, std::size_t count, cupola_node* out,
             Add&& add) {
    return guard([&] {
        Graph& g = *unwrap(check_not_null(graph, "graph"));
        check_not_null(out, "node");
        if (count) check_not_null(after, "after");
        ContextScope current(g.context);
        CUgraphNode node = nullptr;
        add(g, &node, nodes(after));
        *out = node;
    });
}

}  // namespace

int cupola_capture_begin(cupola_stream* stream, int mode) {
    return guard([&] {
        if (mode < CUPOLA_CAPTURE_GLOBAL || mode > CUPOLA_CAPTURE_RELAXED)
            fail(CUPOLA_ERROR_VALUE, "unknown capture mode " + std::to_string(mode));
        Capture::begin(*unwrap(check_not_null(stream, "stream")),
                       static_cast<CUstreamCaptureMode>(mode));
    });
}

int cupola_capture_end(cupola_stream* stream, cupola_graph** out) {
    return guard([&] {
        auto graph = Graph::end_capture(*unwrap(check_not_null(stream, "stream")));
        if (out) *out = wrap(graph.detach());
    });
}

int cupola_capture_hold(cupola_stream* stream, void* owner, void (*release)(void*), int* held) {
    return guard([&] {
        check_not_null(held, "held");
        *held = 0;
        const auto capture = Capture::of(*unwrap(check_not_null(stream, "stream")));
        if (!capture) return;
        *held = 1;
        if (!owner) return;
        auto kept = make<Owner>(owner, release);
        capture->retained->hold(Ref<Object>::adopt(kept.detach()));
    });
}

int cupola_capture_require_contents(cupola_stream* stream, uint64_t address) {
    return guard(
        [&] { Capture::require_contents(*unwrap(check_not_null(stream, "stream")), {address}); });
}

int cupola_captures(void) { return any_capture(); }

int cupola_graph_create(int device, cupola_graph** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Graph>(context(device)).detach());
    });
}

int cupola_graph_add_kernel(cupola_graph* graph, const cupola_node* after, size_t count,
                            cupola_kernel* kernel, const cupola_dimensions* dimensions,
                            const void* buffer, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        if (k.parameter_bytes) check_not_null(buffer, "buffer");
        if (&k.context != &g.context)
            fail(CUPOLA_ERROR_VALUE, k.title + ": the kernel is loaded on " +
                                         device_text(k.context) + ", the graph is of " +
                                         device_text(g.context));
        std::vector<void*> pointers;
        const auto given =
            kernel_parameters(k, *check_not_null(dimensions, "dimensions"), buffer, pointers);
        CUPOLA_CALL(g.context.driver, cuGraphAddKernelNode, out, g.handle, before, count,
                    reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given));
        g.retained.hold(*out, Ref<Object>::share(&k));
        g.retained.hold_used(*out, k, buffer);
    });
}

int cupola_graph_add_copy(cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
                          uint64_t from, size_t bytes, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        if (!bytes) {
            CUPOLA_CALL(g.context.driver, cuGraphAddEmptyNode, out, g.handle, before, count);
            return;
        }
        CUDA_MEMCPY3D copy{};
        copy.srcMemoryType = memory_type(g.context.driver, from);
        copy.dstMemoryType = memory_type(g.context.driver, to);
        copy.srcDevice = from;
        copy.dstDevice = to;
        copy.srcHost = reinterpret_cast<const void*>(from);
        copy.dstHost = reinterpret_cast<void*>(to);
        copy.WidthInBytes = bytes;
        copy.Height = copy.Depth = 1;
        CUPOLA_CALL(g.context.driver, cuGraphAddMemcpyNode, out, g.handle, before, count, &copy,
                    g.context.handle);
        g.retained.hold_used(*out, {to, from});
    });
}

int cupola_graph_add_fill(cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
                          uint32_t value, int width, size_t elements, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        if (width != 1 && width != 2 && width != 4)
            fail(CUPOLA_ERROR_VALUE,
                 "a fill's width must be 1, 2 or 4 bytes, got " + std::to_string(width));
        if (!elements) {
            CUPOLA_CALL(g.context.driver, cuGraphAddEmptyNode, out, g.handle, before, count);
            return;
        }
        CUDA_MEMSET_NODE_PARAMS fill{};
        fill.dst = to;
        fill.value = value;
        fill.elementSize = static_cast<unsigned>(width);
        fill.width = elements;
        fill.height = 1;
        CUPOLA_CALL(g.context.driver, cuGraphAddMemsetNode, out, g.handle, before, count, &fill,
                    g.context.handle);
        g.retained.hold_used(*out, {to});
    });
}

int cupola_graph_add_call(cupola_graph* graph, const cupola_node* after, size_t count,
                          void (*call)(void*), void* data, void (*release)(void*),
                          cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        check_not_null(reinterpret_cast<void*>(call), "call");
        auto callback = make<Callback>(call, data, release);
        const CUDA_HOST_NODE_PARAMS given{&Callback::run, callback.get()};
        const CUresult code =
            g.context.driver->cuGraphAddHostNode(out, g.handle, before, count, &given);
        if (code != CUDA_SUCCESS) {
            callback->disown();
            fail_driver(g.context.driver, code, "cuGraphAddHostNode");
        }
        g.retained.calls.push_back(std::move(callback));
    });
}

int cupola_graph_add_child(cupola_graph* graph, const cupola_node* after, size_t count,
                           const cupola_graph* child, cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        Graph& other = *unwrap(const_cast<cupola_graph*>(check_not_null(child, "child")));
        if (&other == &g) fail(CUPOLA_ERROR_VALUE, "a graph can't be a child of itself");
        require_same_driver(other.context, "the child graph", g.context, "the graph");
        CUPOLA_CALL(g.context.driver, cuGraphAddChildGraphNode, out, g.handle, before, count,
                    other.handle);
        g.retained.add(other.retained);
    });
}

int cupola_graph_add_empty(cupola_graph* graph, const cupola_node* after, size_t count,
                           cupola_node* node) {
    return add_node(graph, after, count, node, [&](Graph& g, CUgraphNode* out, auto before) {
        CUPOLA_CALL(g.context.driver, cuGraphAddEmptyNode, out, g.handle, before, count);
    });
}

int cupola_graph_add_edge(cupola_graph* graph, cupola_node from, cupola_node to) {
    return guard([&] {
        Graph& g = *unwrap(check_not_null(graph, "graph"));
        const CUgraphNode start = node_of(from), end = node_of(to);
        const CUresult code = g.context.driver->cuGraphAddDependencies(g.handle, &start, &end, 1);
        if (code == CUDA_ERROR_INVALID_VALUE)
            fail_driver(g.context.driver, code, "cuGraphAddDependencies",
                        "both nodes must belong to this graph, the edge must be new and must not "
                        "close a cycle");
        check(g.context.driver, code, "cuGraphAddDependencies");
    });
}

int cupola_graph_hold(cupola_graph* graph, cupola_node node, void* owner, void (*release)(void*)) {
    return guard([&] {
        Graph& g = *unwrap(check_not_null(graph, "graph"));
        auto kept = make<Owner>(owner, release);
        g.retained.hold(node_of(node), Ref<Object>::adopt(kept.detach()));
    });
}

int cupola_graph_nodes(const cupola_graph* graph, cupola_node* out, size_t* count) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        const auto found = nodes_of(g.context.driver, g.handle);
        for (std::size_t i = 0; out && i < std::min(found.size(), *check_not_null(count, "count"));
             ++i)
            out[i] = found[i];
        *check_not_null(count, "count") = found.size();
    });
}

int cupola_graph_edges(const cupola_graph* graph, cupola_node* from, cupola_node* to,
                       size_t* count) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        const Edges found = edges_of(g.context.driver, g.handle);
        const std::size_t all = found.from.size();
        for (std::size_t i = 0; from && to && i < std::min(all, *check_not_null(count, "count"));
             ++i) {
            from[i] = found.from[i];
            to[i] = found.to[i];
        }
        *check_not_null(count, "count") = all;
    });
}

int cupola_node_get(const cupola_graph* graph, cupola_node node, cupola_node_info* out) {
    thread_local std::string title;
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        check_not_null(out, "out");
        const Driver& d = g.context.driver;
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUPOLA_CALL(g.context.driver, cuGraphNodeGetType, node_of(node), &type);
        *out = {};
        title.clear();
        out->type = type;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS_v1 given{};
            CUPOLA_CALL(g.context.driver, cuGraphKernelNodeGetParams, node_of(node), &given);
            out->dimensions = {{given.gridDimX, given.gridDimY, given.gridDimZ},
                               {given.blockDimX, given.blockDimY, given.blockDimZ},
                               given.sharedMemBytes};
            const char* name = nullptr;
            if (given.func && d.cuFuncGetName &&
                d.cuFuncGetName(&name, given.func) == CUDA_SUCCESS && name)
                title = base_name(demangle(name));
        } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
            CUDA_MEMCPY3D copy{};
            CUPOLA_CALL(g.context.driver, cuGraphMemcpyNodeGetParams, node_of(node), &copy);
            const auto side = [](CUmemorytype kind, CUdeviceptr device, const void* host) {
                return kind == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host) : device;
            };
            out->to = side(copy.dstMemoryType, copy.dstDevice, copy.dstHost);
            out->from = side(copy.srcMemoryType, copy.srcDevice, copy.srcHost);
            out->bytes = copy.WidthInBytes * copy.Height * copy.Depth;
        } else if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
            CUDA_MEMSET_NODE_PARAMS fill{};
            CUPOLA_CALL(g.context.driver, cuGraphMemsetNodeGetParams, node_of(node), &fill);
            out->to = fill.dst;
            out->bytes = fill.elementSize * fill.width * fill.height;
        }
        out->title = title.c_str();
    });
}

int cupola_node_child(cupola_graph* graph, cupola_node node, cupola_graph** out) {
    return guard([&] {
        auto parent = Ref<Graph>::share(unwrap(check_not_null(graph, "graph")));
        check_not_null(out, "out");
        CUgraph child = nullptr;
        CUPOLA_CALL(parent->context.driver, cuGraphChildGraphNodeGetGraph, node_of(node), &child);
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

int cupola_graph_instantiate(const cupola_graph* graph, cupola_graph_exec** out) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        check_not_null(out, "out");
        *out = wrap(make<GraphExec>(g).detach());
    });
}

int cupola_graph_exec_launch(cupola_graph_exec* exec, cupola_stream* stream) {
    return guard([&] {
        GraphExec& e = *unwrap(check_not_null(exec, "exec"));
        e.context.driver.get();  // a forked child must not get further
        e.launch(stream_or_current(unwrap(stream), e.context));
    });
}

int cupola_graph_exec_launch_at_once(cupola_graph_exec* exec, cupola_stream* stream) {
    bool waits = false;
    const int status = guard([&] {
        GraphExec& e = *unwrap(check_not_null(exec, "exec"));
        e.context.driver.get();
        Stream& s = stream_or_current(unwrap(stream), e.context);
        waits = !e.launches_without_waiting(s);
        if (!waits) e.launch(s);
    });
    return waits ? CUPOLA_WOULD_WAIT : status;
}

int cupola_graph_exec_upload(cupola_graph_exec* exec, cupola_stream* stream) {
    return guard([&] {
        GraphExec& e = *unwrap(check_not_null(exec, "exec"));
        Stream& s = stream_or_current(unwrap(stream), e.context);
        Capture::refuse(s, "used to upload a graph; upload it on another stream");
        ContextScope current(s.context);
        CUPOLA_CALL(s.context.driver, cuGraphUpload, e.handle, s.handle);
    });
}

int cupola_graph_exec_set_kernel(cupola_graph_exec* exec, cupola_node node, cupola_kernel* kernel,
                                 const cupola_dimensions* dimensions, const void* buffer,
                                 void* owner, void (*release)(void*)) {
    return guard([&] {
        GraphExec& e = *unwrap(check_not_null(exec, "exec"));
        Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        if (k.parameter_bytes) check_not_null(buffer, "buffer");
        auto kept = owner ? make<Owner>(owner, release) : Ref<Owner>();
        e.set_kernel(static_cast<CUgraphNode>(node), k, *check_not_null(dimensions, "dimensions"),
                     buffer, Ref<Object>::adopt(kept.detach()));
    });
}

int cupola_graph_exec_update(cupola_graph_exec* exec, const cupola_graph* graph) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(check_not_null(graph, "graph")));
        unwrap(check_not_null(exec, "exec"))->update(g);
    });
}

void* cupola_graph_exec_handle(const cupola_graph_exec* exec) {
    return exec ? unwrap(const_cast<cupola_graph_exec*>(exec))->handle : nullptr;
}
void cupola_graph_exec_retain(cupola_graph_exec* exec) {
    if (exec) unwrap(exec)->retain();
}
void cupola_graph_exec_release(cupola_graph_exec* exec) {
    if (exec) unwrap(exec)->release();
}
