// csrc/dropin/cudart/stream/versions/graph.cpp - functions of captures and graphs that take a
// stream, and whose parameters differ between versions 12 and 13 of the runtime.
#include "dropin/cudart/names.hpp"
#include "dropin/cudart/runtime.hpp"

using namespace cupola::cudart;

// Captures. Version 12 has older forms, which do not name the edges' properties.

namespace {

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                         unsigned long long* id, cudaGraph_t* graph,
                         const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                         size_t* count) {
    return entry([&](const Driver& d) {
        return d.StreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                      reinterpret_cast<cuuint64_t*>(id), graph, dependencies,
                                      reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    });
}

cudaError_t update_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                const cudaGraphEdgeData* edges, size_t count, unsigned flags) {
    return entry([&](const Driver& d) {
        return d.StreamUpdateCaptureDependencies(
            stream, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges), count, flags);
    });
}

}  // namespace

CUPOLA_CUDART cudaError_t CUPOLA_OWN(CUPOLA_NEW(cudaStreamGetCaptureInfo, _v3))(
    cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
    size_t* count) {
    return capture_info(stream, status, id, graph, dependencies, edges, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(CUPOLA_NEW(cudaStreamUpdateCaptureDependencies, _v2))(
    cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
    size_t count, unsigned flags) {
    return update_dependencies(stream, dependencies, edges, count, flags);
}

#if CUPOLA_CUDART_MAJOR == 12

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaStreamGetCaptureInfo)(cudaStream_t stream,
                                                               cudaStreamCaptureStatus* status,
                                                               unsigned long long* id) {
    return capture_info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaStreamGetCaptureInfo_v2)(
    cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
    return capture_info(stream, status, id, graph, dependencies, nullptr, count);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaStreamUpdateCaptureDependencies)(
    cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count, unsigned flags) {
    return update_dependencies(stream, dependencies, nullptr, count, flags);
}

#endif
