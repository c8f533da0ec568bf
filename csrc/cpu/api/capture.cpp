// csrc/cpu/api/capture.cpp - cu* entry points: stream capture.
#include "cpu/device/launch/capture.hpp"

#include <algorithm>

#include "cpu/api/graph.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/stream.hpp"

// cuda.h maps the plain name to the newest version.
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies

using namespace cupola::cpu;

namespace {

CUresult show(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
    return entry([&] {
        require(status && (dependencies || !edges));
        const auto info = Capture::info(*stream_of(stream));
        *status = info.status;
        if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
        if (id) *id = info.id;
        if (graph) *graph = info.graph;
        if (dependencies) *dependencies = info.dependencies;
        if (edges) *edges = info.edges;
        if (count) *count = info.count;
        return CUDA_SUCCESS;
    });
}

bool plain(const CUgraphEdgeData& edge) {
    return edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && edge.from_port == 0 &&
           edge.to_port == 0;
}

}  // namespace

CUPOLA_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return entry([&] {
        require(mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        Capture::begin(*stream_of(stream), mode);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return cuStreamBeginCapture_v2(Stream::per_thread(stream), mode);
}
CUPOLA_API CUresult cuStreamBeginCapture(CUstream stream) {
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUPOLA_API CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return cuStreamBeginCapture(Stream::per_thread(stream));
}

CUPOLA_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle,
                                                const CUgraphNode* before,
                                                const CUgraphEdgeData* edges, size_t count,
                                                CUstreamCaptureMode mode) {
    return locked([&] {
        auto graph = Driver::get().graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
        require(before || count == 0);
        require(mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        std::vector<Node*> after;
        for (size_t i = 0; i < count; ++i) {
            Node* const node = node_of(before[i]).get();
            require(graph->has(*node));
            require(!edges || plain(edges[i]), CUDA_ERROR_NOT_SUPPORTED);
            after.push_back(node);
        }
        Capture::begin_in(std::move(graph), std::move(after), *stream_of(stream), mode);
    });
}
CUPOLA_API CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                                     const CUgraphNode* before,
                                                     const CUgraphEdgeData* edges, size_t count,
                                                     CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(Stream::per_thread(stream), graph, before, edges, count,
                                       mode);
}

CUPOLA_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return entry([&] {
        if (graph) *graph = nullptr;
        const auto made = Capture::end(*stream_of(stream));
        if (graph) {
            *graph = made->handle();
        } else {  // the caller wants no result
            std::lock_guard lock(Driver::get().graph_mutex);
            made->forget();
        }
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
    return cuStreamEndCapture(Stream::per_thread(stream), graph);
}

CUPOLA_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return entry([&] {
        require(status);
        *status = Capture::info(*stream_of(stream)).status;
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
    return cuStreamIsCapturing(Stream::per_thread(stream), status);
}

CUPOLA_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status,
                                              cuuint64_t* id, CUgraph* graph,
                                              const CUgraphNode** dependencies, size_t* count) {
    return show(stream, status, id, graph, dependencies, nullptr, count);
}
CUPOLA_API CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                                   cuuint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies,
                                                   size_t* count) {
    return cuStreamGetCaptureInfo_v2(Stream::per_thread(stream), status, id, graph, dependencies,
                                     count);
}
CUPOLA_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status,
                                              cuuint64_t* id, CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              const CUgraphEdgeData** edges, size_t* count) {
    return show(stream, status, id, graph, dependencies, edges, count);
}
CUPOLA_API CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                                   cuuint64_t* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies,
                                                   const CUgraphEdgeData** edges, size_t* count) {
    return cuStreamGetCaptureInfo_v3(Stream::per_thread(stream), status, id, graph, dependencies,
                                     edges, count);
}
CUPOLA_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                           cuuint64_t* id) {
    return cuStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}
CUPOLA_API CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus* status,
                                                cuuint64_t* id) {
    return cuStreamGetCaptureInfo(Stream::per_thread(stream), status, id);
}

CUPOLA_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes,
                                                      size_t count, unsigned int flags) {
    return entry([&] {
        require(flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES ||
                flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
        Capture::set_dependencies(*stream_of(stream), nodes, count,
                                  flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode* nodes,
                                                           size_t count, unsigned int flags) {
    return cuStreamUpdateCaptureDependencies(Stream::per_thread(stream), nodes, count, flags);
}
CUPOLA_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes,
                                                         const CUgraphEdgeData* edges, size_t count,
                                                         unsigned int flags) {
    const bool special = edges && !std::all_of(edges, edges + count, plain);
    if (special) return entry([] { return CUDA_ERROR_NOT_SUPPORTED; });
    return cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
}
CUPOLA_API CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode* nodes,
                                                              const CUgraphEdgeData* edges,
                                                              size_t count, unsigned int flags) {
    return cuStreamUpdateCaptureDependencies_v2(Stream::per_thread(stream), nodes, edges, count,
                                                flags);
}

CUPOLA_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return entry([&] {
        require(mode && (*mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
                         *mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
                         *mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        *mode = Capture::exchange(*mode);
        return CUDA_SUCCESS;
    });
}
