// csrc/dropin/cudart/graph_kernel_node.cpp - kernel nodes of graphs, and their attributes.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/graph.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaKernelNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUDA_KERNEL_NODE_PARAMS wanted;
        const cudaError_t found = kernel_params(*params, wanted);
        return found == cudaSuccess
                   ? result_of(d.GraphAddKernelNode(node, graph, dependencies, count, &wanted))
                   : found;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                       cudaKernelNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUDA_KERNEL_NODE_PARAMS there{};
        if (const CUresult error = d.GraphKernelNodeGetParams(node, &there); error != CUDA_SUCCESS)
            return result_of(error);
        Registry& registry = Registry::get();
        void* const host = there.kern ? registry.host_of(there.kern) : registry.host_of(there.func);
        if (!host) return cudaErrorInvalidDeviceFunction;  // the program knows no function
        params->func = host;
        params->gridDim = {there.gridDimX, there.gridDimY, there.gridDimZ};
        params->blockDim = {there.blockDimX, there.blockDimY, there.blockDimZ};
        params->sharedMemBytes = there.sharedMemBytes;
        params->kernelParams = there.kernelParams;
        params->extra = there.extra;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                       const cudaKernelNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUDA_KERNEL_NODE_PARAMS wanted;
        const cudaError_t found = kernel_params(*params, wanted);
        return found == cudaSuccess ? result_of(d.GraphKernelNodeSetParams(node, &wanted)) : found;
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaKernelNodeParams* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUDA_KERNEL_NODE_PARAMS wanted;
        const cudaError_t found = kernel_params(*params, wanted);
        return found == cudaSuccess ? result_of(d.GraphExecKernelNodeSetParams(exec, node, &wanted))
                                    : found;
    });
}

// Attributes. Their numbers and values are those of the driver, which crashes on null pointers.

static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue));

CUPOLA_CUDART cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node,
                                                          cudaLaunchAttributeID attribute,
                                                          cudaLaunchAttributeValue* value) {
    return entry([&](const Driver& d) {
        if (!node || !value) return CUDA_ERROR_INVALID_VALUE;
        return d.GraphKernelNodeGetAttribute(node, static_cast<CUlaunchAttributeID>(attribute),
                                             reinterpret_cast<CUlaunchAttributeValue*>(value));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node,
                                                          cudaLaunchAttributeID attribute,
                                                          const cudaLaunchAttributeValue* value) {
    return entry([&](const Driver& d) {
        if (!node || !value) return CUDA_ERROR_INVALID_VALUE;
        return d.GraphKernelNodeSetAttribute(
            node, static_cast<CUlaunchAttributeID>(attribute),
            reinterpret_cast<const CUlaunchAttributeValue*>(value));
    });
}

// The first node gets the attributes of the second, in the headers of version 12 too, where the
// names of the parameters are exchanged.
CUPOLA_CUDART cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to,
                                                            cudaGraphNode_t from) {
    return entry([&](const Driver& d) {
        return to && from ? d.GraphKernelNodeCopyAttributes(to, from) : CUDA_ERROR_INVALID_VALUE;
    });
}
