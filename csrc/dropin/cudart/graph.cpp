// csrc/dropin/cudart/graph.cpp - graphs, executable graphs, and the objects that graphs hold.
#include "dropin/cudart/graph.hpp"
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
    return entry([&](const Driver& d) { return d.GraphCreate(graph, flags); });
}

CUPOLA_CUDART cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return entry([&](const Driver& d) { return d.GraphDestroy(graph); });
}

CUPOLA_CUDART cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    return entry([&](const Driver& d) { return d.GraphClone(clone, graph); });
}

CUPOLA_CUDART cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t node,
                                                   cudaGraph_t clone) {
    return entry([&](const Driver& d) { return d.GraphNodeFindInClone(found, node, clone); });
}

CUPOLA_CUDART cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                            size_t* count) {
    return entry([&](const Driver& d) { return d.GraphGetNodes(graph, nodes, count); });
}

CUPOLA_CUDART cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                                size_t* count) {
    return entry([&](const Driver& d) { return d.GraphGetRootNodes(graph, nodes, count); });
}

CUPOLA_CUDART cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return entry([&](const Driver& d) {
        return d.GraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    return entry([&](const Driver& d) { return d.GraphDestroyNode(node); });
}

CUPOLA_CUDART cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path,
                                                 unsigned flags) {
    return entry([&](const Driver& d) {
        return d.GraphDebugDotPrint(graph, path, flags | CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle,
                                                           cudaGraph_t graph, unsigned value,
                                                           unsigned flags) {
    return entry([&](const Driver& d) {
        return d.GraphConditionalHandleCreate(reinterpret_cast<CUgraphConditionalHandle*>(handle),
                                              graph, current_context(d), value, flags);
    });
}

// Executable graphs.

CUPOLA_CUDART cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                               unsigned long long flags) {
    return entry([&](const Driver& d) { return d.GraphInstantiateWithFlags(exec, graph, flags); });
}

CUPOLA_CUDART cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                        unsigned long long flags) {
    return entry([&](const Driver& d) { return d.GraphInstantiateWithFlags(exec, graph, flags); });
}

CUPOLA_CUDART cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return entry([&](const Driver& d) { return d.GraphExecDestroy(exec); });
}

CUPOLA_CUDART cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
    return entry([&](const Driver& d) {
        return d.GraphExecGetFlags(exec, reinterpret_cast<cuuint64_t*>(flags));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphExecUpdateResultInfo* info) {
    static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
    return entry([&](const Driver& d) {
        CUgraphExecUpdateResultInfo unseen;
        return d.GraphExecUpdate(
            exec, graph, info ? reinterpret_cast<CUgraphExecUpdateResultInfo*>(info) : &unseen);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  unsigned enabled) {
    return entry([&](const Driver& d) { return d.GraphNodeSetEnabled(exec, node, enabled); });
}

CUPOLA_CUDART cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  unsigned* enabled) {
    return entry([&](const Driver& d) { return d.GraphNodeGetEnabled(exec, node, enabled); });
}

// User objects. NVIDIA's driver may crash on null pointers here.

CUPOLA_CUDART cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data,
                                               cudaHostFn_t destroy, unsigned count,
                                               unsigned flags) {
    return entry([&](const Driver& d) {
        return object && destroy ? d.UserObjectCreate(object, data, destroy, count, flags)
                                 : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    return entry([&](const Driver& d) {
        return object ? d.UserObjectRetain(object, count) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    return entry([&](const Driver& d) {
        return object ? d.UserObjectRelease(object, count) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                    unsigned count, unsigned flags) {
    return entry([&](const Driver& d) {
        return graph && object ? d.GraphRetainUserObject(graph, object, count, flags)
                               : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                     unsigned count) {
    return entry([&](const Driver& d) {
        return graph && object ? d.GraphReleaseUserObject(graph, object, count)
                               : CUDA_ERROR_INVALID_VALUE;
    });
}

// Captures, and the memory of graphs.

CUPOLA_CUDART cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return entry([&](const Driver& d) {
        // The driver crashes on a null pointer.
        return mode
                   ? d.ThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode))
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGraphMemTrim(int ordinal) {
    return entry_with_device(
        ordinal, [](const Driver& d, CUdevice device) { return d.DeviceGraphMemTrim(device); });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetGraphMemAttribute(int ordinal,
                                                         cudaGraphMemAttributeType attribute,
                                                         void* value) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        return d.DeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute),
                                            value);
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceSetGraphMemAttribute(int ordinal,
                                                         cudaGraphMemAttributeType attribute,
                                                         void* value) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        return d.DeviceSetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute),
                                            value);
    });
}
