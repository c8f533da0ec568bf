// csrc/dropin/cudart/graph_any_node.cpp - nodes of graphs by cudaGraphNodeParams, which names their
// type.
#include <cstring>

#include "dropin/cudart/copy_params.hpp"
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/graph.hpp"

namespace cupola::cudart {
namespace {

// Most types of nodes have the same parameters in both structures.
cudaError_t node_params(const Driver& d, const cudaGraphNodeParams& from, CUgraphNodeParams& to) {
    static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));
    std::memcpy(&to, &from, sizeof to);
    switch (static_cast<int>(from.type)) {
        case cudaGraphNodeTypeKernel:
            return kernel_params(from.kernel, to.kernel);
        case cudaGraphNodeTypeMemcpy:
            to.memcpy = {};
            to.memcpy.flags = from.memcpy.flags;
            for (const int reserved : from.memcpy.reserved) to.memcpy.reserved |= reserved;
            to.memcpy.copyCtx = current_context(d);
            return copy_params(from.memcpy.copyParams, to.memcpy.copyParams);
        case cudaGraphNodeTypeMemset:
            to.memset.ctx = current_context(d);
            return cudaSuccess;
        case cudaGraphNodeTypeConditional:
            to.conditional.ctx = current_context(d);
            return cudaSuccess;
        default:
            return cudaSuccess;
    }
}

}  // namespace

cudaError_t add_graph_node(cudaGraphNode_t* node, cudaGraph_t graph,
                           const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                           size_t count, cudaGraphNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUgraphNodeParams wanted;
        if (const cudaError_t error = node_params(d, *params, wanted); error != cudaSuccess)
            return error;
        const CUresult result =
            d.GraphAddNode(node, graph, dependencies,
                           reinterpret_cast<const CUgraphEdgeData*>(edges), count, &wanted);
        if (result != CUDA_SUCCESS) return result_of(result);
        if (params->type == cudaGraphNodeTypeMemAlloc)
            params->alloc.dptr = reinterpret_cast<void*>(wanted.alloc.dptr);
        if (params->type == cudaGraphNodeTypeConditional)
            params->conditional.phGraph_out = wanted.conditional.phGraph_out;
        return cudaSuccess;
    });
}

}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                                 cudaGraphNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUgraphNodeParams wanted;
        const cudaError_t error = node_params(d, *params, wanted);
        return error == cudaSuccess ? result_of(d.GraphNodeSetParams(node, &wanted)) : error;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaGraphNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUgraphNodeParams wanted;
        const cudaError_t error = node_params(d, *params, wanted);
        return error == cudaSuccess ? result_of(d.GraphExecNodeSetParams(exec, node, &wanted))
                                    : error;
    });
}
