// csrc/dropin/cudart/stream/graph.cpp - captures of streams, and launches of graphs.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return entry([&](const Driver& d) {
        return d.StreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode));
    });
}

CUPOLA_CUDART cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                        const cudaGraphNode_t* dependencies,
                                                        const cudaGraphEdgeData* edges,
                                                        size_t count, cudaStreamCaptureMode mode) {
    static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
    return entry([&](const Driver& d) {
        return d.StreamBeginCaptureToGraph(stream, graph, dependencies,
                                           reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                                           static_cast<CUstreamCaptureMode>(mode));
    });
}

CUPOLA_CUDART cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return entry([&](const Driver& d) { return d.StreamEndCapture(stream, graph); });
}

CUPOLA_CUDART cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                cudaStreamCaptureStatus* status) {
    return entry([&](const Driver& d) {
        return d.StreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                         cudaGraphInstantiateParams* params) {
    static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
    return entry([&](const Driver& d) {
        return d.GraphInstantiateWithParams(
            exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(params));
    });
}

CUPOLA_CUDART cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.GraphUpload(exec, stream); });
}

CUPOLA_CUDART cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.GraphLaunch(exec, stream); });
}
