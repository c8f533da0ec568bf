// csrc/dropin/cudart/versions/graph.cpp - functions of graphs whose parameters differ between
// versions 12 and 13 of the runtime, or that one of them lacks.
#include "dropin/cudart/graph.hpp"
#include "dropin/cudart/names.hpp"
#include "dropin/cudart/runtime.hpp"

using namespace cupola::cudart;

// Edges of graphs. Version 12 has the functions in two forms: name_v2 has the edges' properties.

namespace {

const CUgraphEdgeData* driver_edges(const cudaGraphEdgeData* edges) {
    static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
    return reinterpret_cast<const CUgraphEdgeData*>(edges);
}
CUgraphEdgeData* driver_edges(cudaGraphEdgeData* edges) {
    return reinterpret_cast<CUgraphEdgeData*>(edges);
}

cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                      cudaGraphEdgeData* edges, size_t* count) {
    return entry([&](const Driver& d) {
        return d.GraphGetEdges(graph, from, to, driver_edges(edges), count);
    });
}

cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* others,
                             cudaGraphEdgeData* edges, size_t* count) {
    return entry([&](const Driver& d) {
        return d.GraphNodeGetDependencies(node, others, driver_edges(edges), count);
    });
}

cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t* others, cudaGraphEdgeData* edges,
                           size_t* count) {
    return entry([&](const Driver& d) {
        return d.GraphNodeGetDependentNodes(node, others, driver_edges(edges), count);
    });
}

cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                             const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                             size_t count) {
    return entry([&](const Driver& d) {
        return d.GraphAddDependencies(graph, from, to, driver_edges(edges), count);
    });
}

cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                size_t count) {
    return entry([&](const Driver& d) {
        return d.GraphRemoveDependencies(graph, from, to, driver_edges(edges), count);
    });
}

}  // namespace

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphGetEdges,
                                     _v2)(cudaGraph_t graph, cudaGraphNode_t* from,
                                          cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                                          size_t* count) {
    return get_edges(graph, from, to, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphNodeGetDependencies,
                                     _v2)(cudaGraphNode_t node, cudaGraphNode_t* others,
                                          cudaGraphEdgeData* edges, size_t* count) {
    return get_dependencies(node, others, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphNodeGetDependentNodes,
                                     _v2)(cudaGraphNode_t node, cudaGraphNode_t* others,
                                          cudaGraphEdgeData* edges, size_t* count) {
    return get_dependents(node, others, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphAddDependencies,
                                     _v2)(cudaGraph_t graph, const cudaGraphNode_t* from,
                                          const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                          size_t count) {
    return add_dependencies(graph, from, to, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphRemoveDependencies,
                                     _v2)(cudaGraph_t graph, const cudaGraphNode_t* from,
                                          const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                          size_t count) {
    return remove_dependencies(graph, from, to, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_NEW(cudaGraphAddNode,
                                     _v2)(cudaGraphNode_t* node, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* edges, size_t count,
                                          cudaGraphNodeParams* params) {
    return add_graph_node(node, graph, dependencies, edges, count, params);
}

#if CUPOLA_CUDART_MAJOR == 12

CUPOLA_CUDART cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from,
                                            cudaGraphNode_t* to, size_t* count) {
    return get_edges(graph, from, to, nullptr, count);
}

CUPOLA_CUDART cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                       cudaGraphNode_t* others, size_t* count) {
    return get_dependencies(node, others, nullptr, count);
}

CUPOLA_CUDART cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                         cudaGraphNode_t* others, size_t* count) {
    return get_dependents(node, others, nullptr, count);
}

CUPOLA_CUDART cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to, size_t count) {
    return add_dependencies(graph, from, to, nullptr, count);
}

CUPOLA_CUDART cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph,
                                                      const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, size_t count) {
    return remove_dependencies(graph, from, to, nullptr, count);
}

CUPOLA_CUDART cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           cudaGraphNodeParams* params) {
    return add_graph_node(node, graph, dependencies, nullptr, count, params);
}

#endif
