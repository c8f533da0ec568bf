// csrc/dropin/cudart/graph_copy_node.cpp - copy nodes and fill nodes of graphs.
#include "dropin/cudart/copy_params.hpp"
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/graph.hpp"

namespace cupola::cudart {
namespace {

// Describes a copy to or from a variable on the device.
enum class SymbolRole { is_source, is_destination };
cudaError_t symbol_copy_params(SymbolRole role, const void* symbol, const void* other, size_t bytes,
                               size_t offset, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
    CUdeviceptr variable = 0;
    size_t size = 0;
    if (const cudaError_t error = Registry::get().find_variable(symbol, variable, size);
        error != cudaSuccess)
        return error;
    const cudaMemcpyKind host_kind =
        role == SymbolRole::is_source ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (kind != host_kind && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    void* const place = reinterpret_cast<void*>(variable + offset);
    return role == SymbolRole::is_source
               ? linear_copy_params(const_cast<void*>(other), place, bytes, kind, copy)
               : linear_copy_params(place, other, bytes, kind, copy);
}

// `describe` fills the driver's description of the copy.
template <class Describe>
cudaError_t add_copy(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     size_t count, Describe describe) {
    return entry([&](const Driver& d) {
        CUDA_MEMCPY3D copy;
        const cudaError_t described = describe(copy);
        return described == cudaSuccess
                   ? result_of(d.GraphAddMemcpyNode(node, graph, dependencies, count, &copy,
                                                    current_context(d)))
                   : described;
    });
}

template <class Describe>
cudaError_t set_copy(cudaGraphNode_t node, Describe describe) {
    return entry([&](const Driver& d) {
        CUDA_MEMCPY3D copy;
        const cudaError_t described = describe(copy);
        return described == cudaSuccess ? result_of(d.GraphMemcpyNodeSetParams(node, &copy))
                                        : described;
    });
}

template <class Describe>
cudaError_t set_exec_copy(cudaGraphExec_t exec, cudaGraphNode_t node, Describe describe) {
    return entry([&](const Driver& d) {
        CUDA_MEMCPY3D copy;
        const cudaError_t described = describe(copy);
        return described == cudaSuccess ? result_of(d.GraphExecMemcpyNodeSetParams(
                                              exec, node, &copy, current_context(d)))
                                        : described;
    });
}

auto node_box(const cudaMemcpy3DParms* params) {
    return [params](CUDA_MEMCPY3D& copy) {
        return params ? copy_params(*params, copy) : cudaErrorInvalidValue;
    };
}

auto node_line(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return [=](CUDA_MEMCPY3D& copy) { return linear_copy_params(to, from, bytes, kind, copy); };
}

auto node_symbol_line(SymbolRole role, const void* symbol, const void* other, size_t bytes,
                      size_t offset, cudaMemcpyKind kind) {
    return [=](CUDA_MEMCPY3D& copy) {
        return symbol_copy_params(role, symbol, other, bytes, offset, kind, copy);
    };
}

static_assert(sizeof(cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS));
const CUDA_MEMSET_NODE_PARAMS* fill_node_params(const cudaMemsetParams* params) {
    return reinterpret_cast<const CUDA_MEMSET_NODE_PARAMS*>(params);
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaMemcpy3DParms* params) {
    return add_copy(node, graph, dependencies, count, node_box(params));
}

CUPOLA_CUDART cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies,
                                                   size_t count, void* to, const void* from,
                                                   size_t bytes, cudaMemcpyKind kind) {
    return add_copy(node, graph, dependencies, count, node_line(to, from, bytes, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                         const cudaGraphNode_t* dependencies,
                                                         size_t count, const void* symbol,
                                                         const void* from, size_t bytes,
                                                         size_t offset, cudaMemcpyKind kind) {
    return add_copy(
        node, graph, dependencies, count,
        node_symbol_line(SymbolRole::is_destination, symbol, from, bytes, offset, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                           const cudaGraphNode_t* dependencies,
                                                           size_t count, void* to,
                                                           const void* symbol, size_t bytes,
                                                           size_t offset, cudaMemcpyKind kind) {
    return add_copy(node, graph, dependencies, count,
                    node_symbol_line(SymbolRole::is_source, symbol, to, bytes, offset, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                       cudaMemcpy3DParms* params) {
    return entry([&](const Driver& d) {
        if (!params) return cudaErrorInvalidValue;
        CUDA_MEMCPY3D copy{};
        const CUresult result = d.GraphMemcpyNodeGetParams(node, &copy);
        return result == CUDA_SUCCESS ? copy_params(copy, *params) : result_of(result);
    });
}

CUPOLA_CUDART cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                       const cudaMemcpy3DParms* params) {
    return set_copy(node, node_box(params));
}

CUPOLA_CUDART cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to,
                                                         const void* from, size_t bytes,
                                                         cudaMemcpyKind kind) {
    return set_copy(node, node_line(to, from, bytes, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                               const void* symbol, const void* from,
                                                               size_t bytes, size_t offset,
                                                               cudaMemcpyKind kind) {
    return set_copy(
        node, node_symbol_line(SymbolRole::is_destination, symbol, from, bytes, offset, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to,
                                                                 const void* symbol, size_t bytes,
                                                                 size_t offset,
                                                                 cudaMemcpyKind kind) {
    return set_copy(node, node_symbol_line(SymbolRole::is_source, symbol, to, bytes, offset, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaMemcpy3DParms* params) {
    return set_exec_copy(exec, node, node_box(params));
}

CUPOLA_CUDART cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                             cudaGraphNode_t node, void* to,
                                                             const void* from, size_t bytes,
                                                             cudaMemcpyKind kind) {
    return set_exec_copy(exec, node, node_line(to, from, bytes, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from, size_t bytes,
    size_t offset, cudaMemcpyKind kind) {
    return set_exec_copy(
        exec, node,
        node_symbol_line(SymbolRole::is_destination, symbol, from, bytes, offset, kind));
}

CUPOLA_CUDART cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
                                                                     cudaGraphNode_t node, void* to,
                                                                     const void* symbol,
                                                                     size_t bytes, size_t offset,
                                                                     cudaMemcpyKind kind) {
    return set_exec_copy(exec, node,
                         node_symbol_line(SymbolRole::is_source, symbol, to, bytes, offset, kind));
}

// Fill nodes.

CUPOLA_CUDART cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaMemsetParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphAddMemsetNode(node, graph, dependencies, count, fill_node_params(params),
                                    current_context(d));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                                       cudaMemsetParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphMemsetNodeGetParams(node, reinterpret_cast<CUDA_MEMSET_NODE_PARAMS*>(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                       const cudaMemsetParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphMemsetNodeSetParams(node, fill_node_params(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaMemsetParams* params) {
    return entry([&](const Driver& d) {
        return d.GraphExecMemsetNodeSetParams(exec, node, fill_node_params(params),
                                              current_context(d));
    });
}
