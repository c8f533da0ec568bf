// csrc/dropin/cudart/graph_node.cpp - nodes of graphs whose parameters the driver takes as they
// are.
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS));
const CUDA_HOST_NODE_PARAMS* host_node_params(const cudaHostNodeParams* params) {
    return reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(params);
}

static_assert(sizeof(cudaExternalSemaphoreSignalParams) ==
              sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
static_assert(sizeof(cudaExternalSemaphoreSignalNodeParams) ==
              sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS));
const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* signal_node_params(
    const cudaExternalSemaphoreSignalNodeParams* params) {
    return reinterpret_cast<const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*>(params);
}

static_assert(sizeof(cudaExternalSemaphoreWaitParams) ==
              sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS));
static_assert(sizeof(cudaExternalSemaphoreWaitNodeParams) == sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS));
const CUDA_EXT_SEM_WAIT_NODE_PARAMS* wait_node_params(
    const cudaExternalSemaphoreWaitNodeParams* params) {
    return reinterpret_cast<const CUDA_EXT_SEM_WAIT_NODE_PARAMS*>(params);
}

static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
CUDA_MEM_ALLOC_NODE_PARAMS* alloc_node_params(cudaMemAllocNodeParams* params) {
    return reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(params);
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                const cudaGraphNode_t* dependencies, size_t count) {
    return entry(
        [&](const Driver& d) { return d.GraphAddEmptyNode(node, graph, dependencies, count); });
}

// Host nodes.

CUPOLA_CUDART cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                               const cudaGraphNode_t* dependencies, size_t count,
                                               const cudaHostNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphAddHostNode(node, graph, dependencies, count, host_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                                     cudaHostNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphHostNodeGetParams(node, reinterpret_cast<CUDA_HOST_NODE_PARAMS*>(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                     const cudaHostNodeParams* params) {
    return entry(
        [&](const Driver& d) { return d.GraphHostNodeSetParams(node, host_node_params(params)); });
}

CUPOLA_CUDART cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                         const cudaHostNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExecHostNodeSetParams(exec, node, host_node_params(params));
    });
}

// Child graphs. NVIDIA's driver may crash on null pointers here.

CUPOLA_CUDART cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                     const cudaGraphNode_t* dependencies,
                                                     size_t count, cudaGraph_t child) {
    return entry([&](const Driver& d) {
        if (!node || !graph || !child) return CUDA_ERROR_INVALID_VALUE;
        return d.GraphAddChildGraphNode(node, graph, dependencies, count, child);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node,
                                                          cudaGraph_t* graph) {
    return entry([&](const Driver& d) {
        return node && graph ? d.GraphChildGraphNodeGetGraph(node, graph)
                             : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec,
                                                               cudaGraphNode_t node,
                                                               cudaGraph_t child) {
    return entry([&](const Driver& d) {
        return exec && node && child ? d.GraphExecChildGraphNodeSetParams(exec, node, child)
                                     : CUDA_ERROR_INVALID_VALUE;
    });
}

// Events.

CUPOLA_CUDART cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* dependencies,
                                                      size_t count, cudaEvent_t event) {
    return entry([&](const Driver& d) {
        return d.GraphAddEventRecordNode(node, graph, dependencies, count, event);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node,
                                                           cudaEvent_t* event) {
    return entry([&](const Driver& d) { return d.GraphEventRecordNodeGetEvent(node, event); });
}

CUPOLA_CUDART cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node,
                                                           cudaEvent_t event) {
    return entry([&](const Driver& d) { return d.GraphEventRecordNodeSetEvent(node, event); });
}

CUPOLA_CUDART cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec,
                                                               cudaGraphNode_t node,
                                                               cudaEvent_t event) {
    return entry(
        [&](const Driver& d) { return d.GraphExecEventRecordNodeSetEvent(exec, node, event); });
}

CUPOLA_CUDART cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies,
                                                    size_t count, cudaEvent_t event) {
    return entry([&](const Driver& d) {
        return d.GraphAddEventWaitNode(node, graph, dependencies, count, event);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
    return entry([&](const Driver& d) { return d.GraphEventWaitNodeGetEvent(node, event); });
}

CUPOLA_CUDART cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return entry([&](const Driver& d) { return d.GraphEventWaitNodeSetEvent(node, event); });
}

CUPOLA_CUDART cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec,
                                                             cudaGraphNode_t node,
                                                             cudaEvent_t event) {
    return entry(
        [&](const Driver& d) { return d.GraphExecEventWaitNodeSetEvent(exec, node, event); });
}

// External semaphores.

CUPOLA_CUDART cudaError_t cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
    const cudaExternalSemaphoreSignalNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphAddExternalSemaphoresSignalNode(node, graph, dependencies, count,
                                                      signal_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t node, cudaExternalSemaphoreSignalNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExternalSemaphoresSignalNodeGetParams(
            node, reinterpret_cast<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*>(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t node, const cudaExternalSemaphoreSignalNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExternalSemaphoresSignalNodeSetParams(node, signal_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node,
    const cudaExternalSemaphoreSignalNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExecExternalSemaphoresSignalNodeSetParams(exec, node,
                                                                signal_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
    const cudaExternalSemaphoreWaitNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphAddExternalSemaphoresWaitNode(node, graph, dependencies, count,
                                                    wait_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t node, cudaExternalSemaphoreWaitNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExternalSemaphoresWaitNodeGetParams(
            node, reinterpret_cast<CUDA_EXT_SEM_WAIT_NODE_PARAMS*>(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t node, const cudaExternalSemaphoreWaitNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExternalSemaphoresWaitNodeSetParams(node, wait_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const cudaExternalSemaphoreWaitNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExecExternalSemaphoresWaitNodeSetParams(exec, node, wait_node_params(params));
    });
}

// Memory.

CUPOLA_CUDART cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies,
                                                   size_t count, cudaMemAllocNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphAddMemAllocNode(node, graph, dependencies, count, alloc_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                         cudaMemAllocNodeParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphMemAllocNodeGetParams(node, alloc_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies, size_t count,
                                                  void* memory) {
    return entry([&](const Driver& d) {
        return d.GraphAddMemFreeNode(node, graph, dependencies, count,
                                     reinterpret_cast<CUdeviceptr>(memory));
    });
}

// `memory` is the address of a pointer.
CUPOLA_CUDART cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* memory) {
    return entry([&](const Driver& d) {
        return memory ? d.GraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(memory))
                      : CUDA_ERROR_INVALID_VALUE;
    });
}
