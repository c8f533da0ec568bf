// csrc/dropin/recorder/launch.cpp - cu* entry points that launch kernels and graphs, and that
// capture streams.
#include "dropin/recorder/recording.hpp"

using namespace cupola::recorder;

namespace {

// Records the launch that `launch` makes.
template <class F>
CUresult recorded(const void* handle, const Call& call, F launch) {
    Function* const function = functions.find(handle);
    if (!function) return launch();  // another thread has ended the recording
    Recording recording(*function, handle, call);
    return recording.finish(launch());
}

[[gnu::noinline]] CUresult record_with_attributes(decltype(&cuLaunchKernelEx) real,
                                                  const CUlaunchConfig* config, CUfunction function,
                                                  void** parameters, void** extra) {
    const Call call{{config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes,
                    parameters,
                    extra,
                    config->attrs,
                    config->numAttrs};
    return recorded(function, call, [&] { return real(config, function, parameters, extra); });
}

CUresult count_graph(CUresult result) {
    if (result == CUDA_SUCCESS) count_graph_launch();
    return result;
}

CUresult begin_capture(CUresult result) {
    if (result == CUDA_SUCCESS) count_captures(1);
    return result;
}

}  // namespace

// A launch that is not recorded costs the look-up of its function, and a jump. So nothing here
// takes the address of a parameter: another function records.
#define CUPOLA_LAUNCH(symbol, is_cooperative, last_parameter, last_argument, given)              \
    [[gnu::noinline]] static CUresult record_##symbol(                                           \
        CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,    \
        unsigned bz, unsigned shared, CUstream stream, void** parameters last_parameter) {       \
        const auto real = reinterpret_cast<decltype(&record_##symbol)>(cupola_real_##symbol);    \
        const auto launch = [&] {                                                                \
            return real(function, gx, gy, gz, bx, by, bz, shared, stream,                        \
                        parameters last_argument);                                               \
        };                                                                                       \
        Call call{{gx, gy, gz}, {bx, by, bz}, shared, parameters, given};                        \
        call.cooperative = is_cooperative;                                                       \
        return recorded(function, call, launch);                                                 \
    }                                                                                            \
    CUPOLA_API CUresult symbol(CUfunction function, unsigned gx, unsigned gy, unsigned gz,       \
                               unsigned bx, unsigned by, unsigned bz, unsigned shared,           \
                               CUstream stream, void** parameters last_parameter) {              \
        using Real = decltype(&record_##symbol);                                                 \
        const Real to = functions.find(function) ? &record_##symbol                              \
                                                 : reinterpret_cast<Real>(cupola_real_##symbol); \
        return to(function, gx, gy, gz, bx, by, bz, shared, stream, parameters last_argument);   \
    }
#define CUPOLA_EXTRA_PARAMETER , void** extra
#define CUPOLA_EXTRA_ARGUMENT , extra
CUPOLA_LAUNCH(cuLaunchKernel, false, CUPOLA_EXTRA_PARAMETER, CUPOLA_EXTRA_ARGUMENT, extra)
CUPOLA_LAUNCH(cuLaunchKernel_ptsz, false, CUPOLA_EXTRA_PARAMETER, CUPOLA_EXTRA_ARGUMENT, extra)
CUPOLA_LAUNCH(cuLaunchCooperativeKernel, true, , , nullptr)
CUPOLA_LAUNCH(cuLaunchCooperativeKernel_ptsz, true, , , nullptr)

#define CUPOLA_LAUNCH_EX(symbol)                                                  \
    CUPOLA_API CUresult symbol(const CUlaunchConfig* config, CUfunction function, \
                               void** parameters, void** extra) {                 \
        const auto real = CUPOLA_REAL(symbol, cuLaunchKernelEx);                  \
        if (__builtin_expect(!functions.find(function) || !config, 1))            \
            return real(config, function, parameters, extra);                     \
        return record_with_attributes(real, config, function, parameters, extra); \
    }
CUPOLA_LAUNCH_EX(cuLaunchKernelEx)
CUPOLA_LAUNCH_EX(cuLaunchKernelEx_ptsz)

// A function that calls the real one of the given type, and passes its status to `note`.
#define CUPOLA_NOTED(note, symbol, type, parameters, arguments)              \
    CUPOLA_API CUresult symbol parameters {                                  \
        return note(reinterpret_cast<type>(cupola_real_##symbol) arguments); \
    }

#define CUPOLA_GRAPH_LAUNCH(symbol)                             \
    CUPOLA_NOTED(count_graph, symbol, decltype(&cuGraphLaunch), \
                 (CUgraphExec graph, CUstream stream), (graph, stream))
CUPOLA_GRAPH_LAUNCH(cuGraphLaunch)
CUPOLA_GRAPH_LAUNCH(cuGraphLaunch_ptsz)

using FirstCapture = CUresult (*)(CUstream);
#define CUPOLA_FIRST_CAPTURE(symbol) \
    CUPOLA_NOTED(begin_capture, symbol, FirstCapture, (CUstream stream), (stream))
CUPOLA_FIRST_CAPTURE(cuStreamBeginCapture)
CUPOLA_FIRST_CAPTURE(cuStreamBeginCapture_ptsz)

#define CUPOLA_CAPTURE(symbol)                                              \
    CUPOLA_NOTED(begin_capture, symbol, decltype(&cuStreamBeginCapture_v2), \
                 (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
CUPOLA_CAPTURE(cuStreamBeginCapture_v2)
CUPOLA_CAPTURE(cuStreamBeginCapture_v2_ptsz)

#define CUPOLA_CAPTURE_TO_GRAPH(symbol)                                                  \
    CUPOLA_NOTED(begin_capture, symbol, decltype(&cuStreamBeginCaptureToGraph),          \
                 (CUstream stream, CUgraph graph, const CUgraphNode* nodes,              \
                  const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode), \
                 (stream, graph, nodes, edges, count, mode))
CUPOLA_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph)
CUPOLA_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)

// A capture that was invalidated ends with an error.
#define CUPOLA_END_CAPTURE(symbol)                                                       \
    CUPOLA_API CUresult symbol(CUstream stream, CUgraph* graph) {                        \
        const CUresult result = CUPOLA_REAL(symbol, cuStreamEndCapture)(stream, graph);  \
        if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || \
            result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)                                \
            count_captures(-1);                                                          \
        return result;                                                                   \
    }
CUPOLA_END_CAPTURE(cuStreamEndCapture)
CUPOLA_END_CAPTURE(cuStreamEndCapture_ptsz)
