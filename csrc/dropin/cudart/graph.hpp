// csrc/dropin/cudart/graph.hpp - what the files about graphs share.
#pragma once

#include "dropin/cudart/registry.hpp"

namespace cupola::cudart {

// Nodes run in it: the runtime's parameters name no context.
inline CUcontext current_context(const Driver& d) {
    CUcontext context = nullptr;
    d.CtxGetCurrent(&context);
    return context;
}

// Both structures have several versions with the same fields. A null context is the current one.
template <class From, class To>
cudaError_t kernel_params(const From& from, To& to) {
    to = {};
    to.gridDimX = from.gridDim.x;
    to.gridDimY = from.gridDim.y;
    to.gridDimZ = from.gridDim.z;
    to.blockDimX = from.blockDim.x;
    to.blockDimY = from.blockDim.y;
    to.blockDimZ = from.blockDim.z;
    to.sharedMemBytes = from.sharedMemBytes;
    to.kernelParams = from.kernelParams;
    to.extra = from.extra;
    return Registry::get().find_kernel(from.func, to.kern);
}

// cudaGraphAddNode of version 13.
cudaError_t add_graph_node(cudaGraphNode_t* node, cudaGraph_t graph,
                           const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                           size_t count, cudaGraphNodeParams* params);

}  // namespace cupola::cudart
